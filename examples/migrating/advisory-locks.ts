import { setTimeout as sleep } from 'node:timers/promises';
import { type Leadership, Member, openStore } from 'incumbent';

const [url = 'sqlite:./state.db'] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store, { ttlMs: 5_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

await member.election('invoices').lead(async (leadership) => {
  while (leadership.isValid()) {
    await bill(leadership);
    await sleep(1_000, undefined, { signal: leadership.signal });
  }
});
await member.close();
await store.close();

async function bill({ term, signal }: Leadership): Promise<void> {
  signal.throwIfAborted();
  // In the same transaction as the invoices: update fence set term = $1 where term <= $1
  console.log(`bills with term ${term}`);
}
