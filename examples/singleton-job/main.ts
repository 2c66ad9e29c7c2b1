/** A job that runs once a minute in the whole cluster, however many processes run this. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Member, openStore } from 'incumbent';

const [url = 'sqlite:./state.db', everyMs = '60000'] = process.argv.slice(2);

const store = await openStore(url);
const member = new Member(store, { ttlMs: 5_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

await member.election('report').lead(async (leadership) => {
  const lastRun = leadership.stored<number>('jobs/report/last');
  while (leadership.isValid()) {
    const now = Date.now();
    const due = Math.floor(now / Number(everyMs));
    // Undefined if a process has claimed this run before. No other process can claim it afterwards.
    const claimed = await lastRun.update((last = 0) => (last < due ? due : undefined));
    if (claimed !== undefined) console.log(`run ${due}, by ${member.memberId} in term ${leadership.term}`);
    await sleep((due + 1) * Number(everyMs) - now, undefined, { signal: leadership.signal });
  }
});
await member.close();
await store.close();
