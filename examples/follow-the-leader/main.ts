/**
 * An HTTP service that one process serves at a time. The other processes redirect clients to it.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ElectionObserver, Member, openStore } from 'incumbent';

interface Address {
  readonly url: string;
}

const [storeUrl = 'sqlite:./state.db', port = '0'] = process.argv.slice(2);
const store = await openStore(storeUrl);
const observer = new ElectionObserver<Address>(store, 'counter');

let count = 0;
const server = createServer((request, response) => {
  const { leadership } = election;
  // `isValid()` becomes false at least `drainMs` before the lease can end: the time to answer.
  if (leadership?.isValid() === true) return response.end(`${(count += 1)} in term ${leadership.term}\n`);
  const { current } = observer;
  const leader = current.state === 'leader' && current.memberId !== member.memberId ? current.value?.url : undefined;
  if (leader === undefined) return response.writeHead(503, { 'retry-after': '1' }).end('nobody leads now\n');
  return response.writeHead(307, { location: sameAt(leader, request.url) }).end();
});
await new Promise<void>((resolve) => server.listen(Number(port), '127.0.0.1', resolve));
const url = `http://127.0.0.1:${addressOf(server.address()).port}`;

const member = new Member(store, { ttlMs: 5_000 });
const election = member.election<Address>('counter', { value: { url } });
member.shutdownOn('SIGTERM', 'SIGINT');
await observer.ready;
console.log(url);

await election.lead(async (leadership) => {
  count = 0; // what only the leader knows begins anew with it; a real service would read it from the store
  await leadership.ended;
});
await member.close();
await observer.close();
await store.close();
server.close();
server.closeAllConnections();

/**
 * The requested path at the leader. Only the path is used: `//elsewhere.example` would redirect the
 * client there.
 */
function sameAt(leader: string, asked = '/'): string {
  const { pathname, search } = URL.parse(asked, leader) ?? new URL(leader);
  return Object.assign(new URL(leader), { pathname, search }).href;
}

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address;
}
