/** The service: the leader handles orders, one after the other, and shuts down on SIGTERM. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Member, openStore } from 'incumbent';

const [url = '', memberId = ''] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store, { memberId, ttlMs: 5_000 });
member.shutdownOn('SIGTERM', 'SIGINT'); // hands over to the next in line, then closes
process.once('disconnect', () => process.exit(1));

await member.election('orders').lead(async (leadership) => {
  while (leadership.isValid()) {
    process.send?.({ order: process.hrtime.bigint(), term: leadership.term }); // the work
    await sleep(5, undefined, { signal: leadership.signal });
  }
});
await member.close();
await store.close();
process.removeAllListeners('disconnect').disconnect();
