/**
 * A member of a group without a store in a process of its own, for checks. It leads whenever it
 * can, and reports when it is valid and which members it sees.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { PeerMember, quorum, TcpTransport, voteFile } from '@incumbent/peer';
import { emit } from '@incumbent/test-support/child';
import { emitTelemetry, tellWhileLeading } from './leading.ts';

const [memberId = '', addresses = '', folder = '.', electionTimeoutMinMs = '500'] = process.argv.slice(2);
const members = Object.fromEntries(addresses.split(',').map((pair) => pair.split('=') as [id: string, address: string]));

const transport = new TcpTransport({ memberId, members, secret: process.env['CLUSTER_SECRET'] ?? '' });
const member = new PeerMember({
  algorithm: quorum({ members: Object.keys(members), electionTimeoutMinMs: Number(electionTimeoutMinMs) }),
  transport: transport.election('controller'),
  memberId,
  storage: voteFile(`${folder}/votes-of-${memberId}-in-controller`),
});
for (const trouble of ['connectionRefused', 'messageRefused', 'peerFailed'])
  diagnosticsChannel.subscribe(`incumbent:${trouble}`, (fields) => emit('trouble', { trouble, fields: inspect(fields) }));
emitTelemetry();
member.subscribe((view) => {
  const isLed = view.state === 'leader';
  emit('sees', { leader: isLed ? view.memberId : undefined, term: isLed ? view.term : undefined });
});

try {
  await member.lead((leadership) => tellWhileLeading(leadership, 0));
} catch (error) {
  emit('failed', { error: String(error) });
}
