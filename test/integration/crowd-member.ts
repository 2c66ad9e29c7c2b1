/**
 * One of many members of one election, in a process of its own. It opens its store, and campaigns
 * when it receives SIGUSR2, so that all members begin at the same moment. Started by
 * `checks/kubernetes-crowd.ts`. Arguments: the store's URL, the member id, the ttl in ms.
 */

import diagnosticsChannel from 'node:diagnostics_channel';

import { emit } from '@incumbent/test-support/child';
import { Member, openStore } from 'incumbent';

const [url = 'memory:', memberId = 'm', ttlMs = '15000'] = process.argv.slice(2);

for (const event of ['elected', 'waiting', 'ended']) diagnosticsChannel.subscribe(`incumbent:${event}`, () => emit(event));

const store = await openStore(url, { waitMs: 60_000 });
const member = new Member(store, { memberId, ttlMs: Number(ttlMs) });
// Nothing else keeps the process running before the signal.
const waiting = setInterval(() => {}, 60_000);
process.once('SIGUSR2', () => {
  clearInterval(waiting);
  void member.election('controller').lead(({ ended }) => ended);
});
process.once('SIGTERM', () => void stop());
emit('ready');

async function stop(): Promise<void> {
  await member.shutdown();
  await store.close();
}
