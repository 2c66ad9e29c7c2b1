/** A job that runs once a minute in the whole cluster, however many processes run this. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Leadership, Member, openStore } from 'incumbent';

const [url = 'sqlite:./state.db', everyMs = '60000'] = process.argv.slice(2);
const LAST_RUN = 'jobs/report/last';

const store = await openStore(url);
const member = new Member(store, { ttlMs: 5_000 });
const call = { timeoutMs: member.timing.callTimeoutMs };
member.shutdownOn('SIGTERM', 'SIGINT');

await member.election('report').lead(async (leadership) => {
  while (leadership.isValid()) {
    const now = Date.now();
    const due = Math.floor(now / Number(everyMs));
    if (await claim(leadership, due)) console.log(`run ${due}, by ${member.memberId} in term ${leadership.term}`);
    await sleep((due + 1) * Number(everyMs) - now, undefined, { signal: leadership.signal });
  }
});
await member.close();
await store.close();

/**
 * Claims the run. True if no process has claimed it before; no other process can claim it
 * afterwards.
 */
async function claim(leadership: Leadership, run: number): Promise<boolean> {
  const last = await store.read(LAST_RUN, call);
  if (last !== undefined && Number(new TextDecoder().decode(last.value)) >= run) return false;
  const put = new TextEncoder().encode(String(run));
  const { swapped } = await leadership.swap([{ key: LAST_RUN, expect: last?.revision ?? null, put }]);
  return swapped;
}
