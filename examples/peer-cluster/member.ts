/**
 * The process of one member: `node member.ts ALGORITHM MEMBER_ID a=HOST:PORT,b=… FOLDER`. It
 * campaigns whenever it can, and reports its state.
 */

import { PeerMember, TcpTransport, voteFile } from '@incumbent/peer';
import { Cable } from './cut.ts';
import { electionOf, isName } from './elections.ts';
import { isOrder, type Order, type Report } from './words.ts';

const [name = '', memberId = '', addresses = '', folder = '.'] = process.argv.slice(2);
if (!isName(name)) throw new Error(`there is no election "${name}"`);
const members = Object.fromEntries(addresses.split(',').map(addressOf));
let isClosing = false;
const tell = (told: Report): void => void process.send?.(told);

const transport = new TcpTransport({ memberId, members, secret: process.env['CLUSTER_SECRET'] ?? '' });
const election = 'controller';
const cable = new Cable(transport.election(election));
const member = new PeerMember({
  algorithm: electionOf(name, Object.keys(members)),
  transport: cable,
  memberId,
  // One file for each election of each member. By best effort nothing is kept.
  ...(name === 'quorum' ? { storage: voteFile(`${folder}/votes-of-${memberId}-in-${election}`) } : {}),
});

member.subscribe((view) => {
  const isLed = view.state === 'leader';
  tell({ type: 'sees', leader: isLed ? view.memberId : undefined, number: isLed ? (view.term ?? view.round) : undefined });
});

process.on('message', (message) => {
  if (isOrder(message)) void obey(message);
});
process.on('SIGINT', () => {}); // Ctrl-C reaches all processes of a terminal; whoever has started this one ends it
process.once('disconnect', () => process.exit(1)); // a member whose starter has died is not needed

try {
  await member.lead(async (leadership) => {
    tell({ type: 'leads', number: leadership.term ?? leadership.round ?? 0 });
    const { reason } = await leadership.ended;
    tell({ type: 'ended', reason });
  }); // lost, it stands again; closed, this rejects
} catch (error) {
  if (!isClosing) tell({ type: 'failed', why: String(error) });
}

/** Parses `id=host:port`. */
function addressOf(text: string): readonly [id: string, address: string] {
  const [id = '', address = ''] = text.split('=');
  return [id, address];
}

async function obey(order: Order): Promise<void> {
  switch (order) {
    case 'cut':
      cable.isCut = true;
      return;
    case 'heal':
      cable.isCut = false;
      return;
    case 'close':
      isClosing = true;
      await member.shutdown();
      await transport.close();
      process.removeAllListeners('disconnect');
      process.disconnect();
      return;
    default:
      order satisfies never;
  }
}
