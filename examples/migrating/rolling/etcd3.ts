import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Etcd3 } from 'etcd3';
import { Member, openStore, type Leadership } from 'incumbent';

const [hosts = '127.0.0.1:2379', everyMs = '1000'] = process.argv.slice(2);
const client = new Etcd3({ hosts });
const store = await openStore(`etcd://${hosts}/my-app`);
const member = new Member(store, { ttlMs: 5_000 });
const election = member.election('scheduler', { value: { pid: process.pid } });
const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());

while (!stopping.signal.aborted) {
  // Renewed every 5 s: the old lease outlasts the leadership, whose ttl is 5 s.
  const campaign = client.election('scheduler', 15).campaign(String(process.pid));
  const lost = new AbortController();
  campaign.on('error', (error) => lost.abort(error));
  const signal = AbortSignal.any([lost.signal, stopping.signal]);
  try {
    await once(campaign, 'elected', { signal });
    const electedAt = performance.now();
    await election.tryLead((leadership) => schedule(leadership, electedAt), { signal });
  } catch (error) {
    if (!stopping.signal.aborted) console.error('lost:', error);
  }
  // Comes last: until then, the old election has no other leader.
  await campaign.resign().catch(() => {});
  await sleep(1_000, undefined, { signal: stopping.signal }).catch(() => {});
}
await member.close();
await store.close();
client.close();

async function schedule(leadership: Leadership, electedAt: number): Promise<void> {
  // The store was away for too long to be sure of the old election.
  if (performance.now() - electedAt > 5_000) return;
  while (leadership.isValid()) {
    console.log(`schedule of ${process.pid}, in term ${leadership.term}`);
    await sleep(Number(everyMs), undefined, { signal: leadership.signal });
  }
}
