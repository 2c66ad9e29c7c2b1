/** Small programs that end, or do not, by themselves. Started by `processes.test.ts`. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionObserver, type Leadership, Member, openStore } from 'incumbent';
import { emit } from '@incumbent/test-support/child';

const [what = '', url = 'memory:'] = process.argv.slice(2);
const store = await openStore(url);
// The work of one case needs most of a second to stop.
const member = new Member(store, { ttlMs: what === 'closes while its work stops' ? 10_000 : 3_000 });
const election = member.election('controller');

async function leadOnce(): Promise<void> {
  const leadership = await election.campaign();
  await leadership.resign();
}

async function workUntilLost(leadership: Leadership): Promise<void> {
  emit('leads');
  await leadership.ended;
  await sleep(300);
  emit('stopped');
}

switch (what) {
  case 'closes all':
    await leadOnce();
    await member.close();
    await store.close();
    break;
  case 'closes the member only':
    await leadOnce();
    await member.close();
    break;
  case 'leaves the store open and idle':
    break;
  case 'leaves an idle member':
    await leadOnce();
    break;
  case 'leaves an idle observer': {
    const observer = new ElectionObserver(store, 'controller');
    observer.subscribe(() => {});
    await observer.ready;
    break;
  }
  case 'leaves an opened group':
    await member.group('brokers').join();
    break;
  case 'holds a leadership':
    await election.campaign();
    emit('there');
    break;
  case 'has a pending lead':
    emit('there');
    void election.lead(async (leadership) => {
      emit('leads');
      await leadership.ended;
      emit('lost');
    });
    break;
  case 'has a pending campaign':
    emit('there');
    void election.campaign();
    break;
  case 'leads in three elections':
    member.shutdownOn('SIGTERM', 'SIGINT');
    for (const name of ['a', 'b', 'c']) void member.election(name).lead(workUntilLost);
    break;
  case 'closes while its work stops':
    member.shutdownOn('SIGTERM');
    process.once('SIGTERM', () => emit('asked'));
    void election.lead(async (leadership) => {
      emit('leads');
      await leadership.ended;
      emit('lost');
      await sleep(900);
      emit('stopped');
    });
    await new Promise((resolve) => void process.once('SIGUSR2', resolve));
    await member.close();
    emit('closed');
    break;
  case 'waits in two elections':
    member.shutdownOn('SIGTERM');
    void election.campaign();
    void member.election('other').lead(workUntilLost);
    emit('there');
    break;
  case 'has work that does not stop':
    member.shutdownOn('SIGTERM', 'SIGINT');
    void election.lead(async (leadership) => {
      emit('leads');
      await leadership.ended;
      emit('lost');
      await new Promise((_, reject) => setTimeout(reject, 600_000));
    });
    break;
  case 'reads views':
    emit('there');
    for await (const view of new ElectionObserver(store, 'controller').views()) emit('view', { state: view.state });
    break;
  default:
    throw new Error(`no such program: ${what}`);
}
