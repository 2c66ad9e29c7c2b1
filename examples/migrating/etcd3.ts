import { ElectionObserver, Member, openStore } from 'incumbent';

const [url = 'etcd://127.0.0.1:2379/my-app'] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store, { ttlMs: 5_000 });
const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());

const observer = new ElectionObserver(store, 'scheduler');
observer.subscribe((view) => {
  if (view.state === 'leader') console.log(`${view.memberId} leads in term ${view.term}`);
});

const election = member.election('scheduler', { value: { pid: process.pid } });
try {
  for (;;) {
    const leadership = await election.campaign({ signal: stopping.signal });
    console.log(`elected in term ${leadership.term}`);
    stopping.signal.addEventListener('abort', () => void leadership.resign());
    const { lost, reason } = await leadership.ended;
    console.log(`${lost ? 'lost' : 'gave up'} term ${leadership.term}: ${reason}`);
    await leadership.released;
  }
} catch (error) {
  if (!stopping.signal.aborted) throw error;
}
await observer.close();
await member.close();
await store.close();
