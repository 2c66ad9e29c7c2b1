import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionObserver, type Leadership, Member, openStore } from 'incumbent';

const [url = 'kubernetes:', everyMs = '1000'] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store, { ttlMs: 15_000, drainMs: 4_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

const observer = new ElectionObserver(store, 'controller');
observer.subscribe((view) => {
  if (view.state === 'leader') console.log(`the new leader is ${view.memberId}`);
});

await member.election('controller').lead(reconcile);
console.log('stopped leading');
await observer.close();
await member.close();
await store.close();

async function reconcile(leadership: Leadership): Promise<void> {
  console.log(`started leading in term ${leadership.term}`);
  while (leadership.isValid()) {
    console.log('reconciles'); // One pass of the controller. Send leadership.term with every write.
    await sleep(Number(everyMs), undefined, { signal: leadership.signal });
  }
}
