/** One leader for each shard, spread over the processes that run this. */

import { Member, openStore, rendezvous } from 'incumbent';

const [url = 'sqlite:./state.db', shards = '16'] = process.argv.slice(2);
const store = await openStore(url);
// A member has one lease for all its elections.
const member = new Member(store, { ttlMs: 5_000, rebalanceEveryMs: 1_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

const mine = new Set<string>();
const succession = rendezvous({ rebalance: true }); // each shard prefers a member of its own; a leader hands over to the preferred one
const names = Array.from({ length: Number(shards) }, (_, index) => `shard-${index}`);

await Promise.all(names.map((name) => lead(name)));
await member.close();
await store.close();

async function lead(name: string): Promise<void> {
  await member.election(name, { succession }).lead(async (leadership) => {
    mine.add(name);
    tell();
    await leadership.ended; // the shard's work goes here, and listens to leadership.signal
    mine.delete(name);
    tell();
  });
}

function tell(): void {
  console.log(`${member.memberId} leads ${mine.size} of ${shards}`);
}
