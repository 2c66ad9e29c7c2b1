/** Programs in Python and shell elect one leader through two sidecars, on real stores. */

import { join } from 'node:path';

import { makeScratch, requireStore, sharedEtcd, uniqueNamespace } from '@incumbent/test-support';
import { describe, it } from 'vitest';

import { checkActs, type Language, ServeClient, startServe } from './serve-clients.ts';

const stores = {
  etcd: async () => `etcd://${new URL((await sharedEtcd()).url).host}/${uniqueNamespace('serve')}`,
  sqlite: async () => `sqlite:${join((await makeScratch('serve')).path, 'state.db')}`,
} as const;

for (const [name, fresh] of Object.entries(stores)) {
  const isAvailable = name === 'sqlite' || (await requireStore({ store: 'etcd' }));
  describe.runIf(isAvailable)(`clients in other languages on ${name}`, { timeout: 180_000 }, () => {
    it.each<readonly [Language, Language]>([
      ['python', 'shell'],
      ['shell', 'python'],
    ])('lead one after the other when a client in %s is killed, and then one in %s is paused', async (first, second) => {
      const store = await fresh();
      await using one = await startServe(store, 'one');
      await using two = await startServe(store, 'two');
      await using a = new ServeClient(first, one.url, 'a');
      await a.leadsAfter(0n);
      await using b = new ServeClient(second, two.url, 'b');
      a.signal('SIGKILL');
      await b.leadsAfter(1n);
      await using c = new ServeClient(first, two.url, 'c');
      b.signal('SIGSTOP');
      await c.leadsAfter(b.term);
      b.signal('SIGCONT');
      await two.process[Symbol.asyncDispose]();
      await using d = new ServeClient(second, one.url, 'd');
      await d.leadsAfter(c.term);
      checkActs([a, b, c, d]);
    });
  });
}
