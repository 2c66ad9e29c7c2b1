import { setTimeout as sleep } from 'node:timers/promises';
import { Member, openStore } from 'incumbent';

const [url = 'redis://127.0.0.1:6379/my-app', everyMs = '1000'] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store, { ttlMs: 5_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

await member.election('reports', { acceptWeakStore: 'redis' }).lead(async (leadership) => {
  while (leadership.isValid()) {
    await sendReport(leadership.term, leadership.signal);
    await sleep(Number(everyMs), undefined, { signal: leadership.signal });
  }
});
await member.close();
await store.close();

async function sendReport(term: bigint, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  console.log(`report from ${process.pid}, in term ${term}`);
}
