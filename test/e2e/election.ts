/**
 * One member of an election in a process of its own. `platforms.test.ts` runs it on other runtimes
 * than Node, with the packages as they are published.
 */

import { Member, openStore } from 'incumbent';

const [url = 'memory:', memberId = 'a'] = process.argv.slice(2);

const store = await openStore(url);
const member = new Member(store, { memberId, ttlMs: 5_000 });
member.shutdownOn('SIGTERM');

const options = store.capabilities.linearizable ? {} : { acceptWeakStore: store.name };
await member.election('platform', options).lead(async (leadership) => {
  const change = { key: `terms/${leadership.term}`, expect: null, put: new TextEncoder().encode(memberId) };
  const { swapped } = await leadership.swap([change]);
  console.log(`${memberId} leads in term ${leadership.term}, swapped: ${swapped}`);
  await leadership.ended;
});
await store.close();
console.log('closed');
