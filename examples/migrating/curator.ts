import { setTimeout as sleep } from 'node:timers/promises';
import { type Leadership, Member, openStore } from 'incumbent';

const [url = 'zookeeper://127.0.0.1:2181/my-app'] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store, { ttlMs: 6_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

const election = member.election('controller', {
  onElected: (leadership) => console.log(`isLeader, in term ${leadership.term}`),
  onEnded: ({ reason }) => console.log(`notLeader: ${reason}`),
});
await election.lead(takeLeadership);
await member.close();
await store.close();

async function takeLeadership(leadership: Leadership): Promise<void> {
  const assigned = leadership.stored<string>('assigned-by');
  while (leadership.isValid()) {
    await assigned.put(member.memberId);
    await sleep(60_000, undefined, { signal: leadership.signal });
  }
}
