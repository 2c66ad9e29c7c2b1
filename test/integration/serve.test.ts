/** Programs in several languages elect one leader through two sidecars, on real stores. */

import { join } from 'node:path';

import { type Language, makeScratch, requireLanguage, requireStore, sharedEtcd, uniqueNamespace } from '@incumbent/test-support';
import { ElectionAdmin, openStore } from 'incumbent';
import { describe, it } from 'vitest';

import { checkActs, ELECTION, ServeClient, startServe } from './serve-clients.ts';

const stores = {
  etcd: async () => `etcd://${new URL((await sharedEtcd()).url).host}/${uniqueNamespace('serve')}`,
  sqlite: async () => `sqlite:${join((await makeScratch('serve')).path, 'state.db')}`,
} as const;

/**
 * The client of the one language is killed, then that of the other one is stopped, then the sidecar
 * of the next one is killed.
 */
async function clientsLeadInTurn(store: string, first: Language, second: Language): Promise<void> {
  await using one = await startServe(store, 'one');
  await using two = await startServe(store, 'two');
  await using a = await ServeClient.start(first, one.url, 'a');
  await a.leadsAfter(0n);
  await using b = await ServeClient.start(second, two.url, 'b');
  a.signal('SIGKILL');
  await b.leadsAfter(1n);
  await using c = await ServeClient.start(first, two.url, 'c');
  b.signal('SIGSTOP');
  await c.leadsAfter(b.term);
  b.signal('SIGCONT');
  await two.process[Symbol.asyncDispose]();
  await using d = await ServeClient.start(second, one.url, 'd');
  await d.leadsAfter(c.term);
  checkActs([a, b, c, d]);
}

/** A client in a state that it must acknowledge leads again, though no other process can help. */
async function leadsAgain(store: string, language: Language): Promise<void> {
  await using sidecar = await startServe(store, 'one');
  await using client = await ServeClient.start(language, sidecar.url, 'a');
  await using opened = await openStore(store);
  const admin = new ElectionAdmin(opened, ELECTION);
  await client.leadsAfter(0n);
  for (let turn = 0; turn < 2; turn += 1) {
    const { term } = client;
    await admin.stepDown(term);
    await client.leadsAfter(term);
  }
  checkActs([client]);
}

const has: Readonly<Record<Language, boolean>> = {
  python: await requireLanguage('python'),
  shell: await requireLanguage('shell'),
  go: await requireLanguage('go'),
  java: await requireLanguage('java'),
  ruby: await requireLanguage('ruby'),
};

for (const [name, fresh] of Object.entries(stores)) {
  const isAvailable = name === 'sqlite' || (await requireStore({ store: 'etcd' }));
  describe.runIf(isAvailable && has.python && has.shell)(`clients in Python and shell on ${name}`, { timeout: 180_000 }, () => {
    it.each<readonly [Language, Language]>([
      ['python', 'shell'],
      ['shell', 'python'],
    ])('lead one after the other when a client in %s is killed, and then one in %s is stopped', async (first, second) => {
      await clientsLeadInTurn(await fresh(), first, second);
    });
  });
}

describe('a client whose term an operator ends', { timeout: 300_000 }, () => {
  for (const language of ['python', 'shell', 'go', 'java', 'ruby'] as const)
    it.runIf(has[language])(`leads again, in ${language}`, async () => {
      await leadsAgain(await stores.sqlite(), language);
    });
});

describe('clients in Go, Java and Ruby', { timeout: 300_000 }, () => {
  for (const language of ['go', 'java', 'ruby'] as const)
    it.runIf(has[language] && has.python)(`lead one after the other, those in ${language} and one in Python`, async () => {
      await clientsLeadInTurn(await stores.sqlite(), language, 'python');
    });
});
