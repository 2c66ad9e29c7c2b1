/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { connect, type Socket } from 'node:net';

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields, textFields } from '../src/objects/json.ts';
import { openRevoker } from '../src/revoker.ts';
import { FakeApiServer, type FakeRequest } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };

it('a call that ends while the request that it shares waits for a connection is not `notSent`, because it is applied', async () => {
  await using server = await FakeApiServer.start();
  const clock = new ManualClock();
  const sockets: Socket[] = [];
  const gate = Promise.withResolvers<void>();
  let isGated = false;
  await using store = await openKubernetes({
    server: server.url,
    token: server.tokens.admin,
    keysResource: KEYS,
    clock,
    connect: async ({ host, port }) => {
      if (isGated) await gate.promise;
      const socket = connect({ host, port });
      sockets.push(socket);
      return socket;
    },
  });
  // The state of the keys is known from here on, so a swap is one request.
  await store.compareAndSwap([{ key: 'first', expect: null, put: new Uint8Array(1) }]);
  isGated = true;
  for (const socket of sockets) socket.destroy();
  const short = store.compareAndSwap([{ key: 'short', expect: null, put: new Uint8Array(1) }], { timeoutMs: 100 });
  const long = store.compareAndSwap([{ key: 'long', expect: null, put: new Uint8Array(1) }], { timeoutMs: 4_000 });
  const ended = short.catch((error: unknown) => error);
  await clock.advance(100);
  const error = await ended;
  gate.resolve();
  expect(await long).toMatchObject({ swapped: true });
  expect(await store.read('short')).toBeDefined();
  expect(error).toMatchObject({ outcome: 'unknown' });
});

const isOfKeys = ({ path }: FakeRequest): boolean => path.includes('/configmaps');

it('a revocation that has deleted the lease and cannot delete its keys is not `notSent`', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const { id } = await store.grantLease(60_000, { at: momentOf(systemClock) });
  await store.enqueue('q', 'a', new Uint8Array(1), id);
  const { revocation } = store;
  if (revocation === undefined) throw new Error('no revocation');
  const revoker = await openRevoker(revocation.access);
  server.intervene = (request) => (isOfKeys(request) ? { status: 429, text: 'storage is (re)initializing' } : undefined);
  await expect(revoker.revoke(revocation.ticketOf(id) ?? '', { timeoutMs: 5_000 })).rejects.toMatchObject({ outcome: 'unknown' });
  server.intervene = () => undefined;
  await revoker.close();
});

it('a revocation that has deleted the lease and then finds a restored backup is not `refused`', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const map = '/apis/test.example/v1/namespaces/default/configmaps/incumbent';
  await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
  const { body: backup } = await server.call('GET', map);
  await store.compareAndSwap([{ key: 'b', expect: null, put: new Uint8Array(1) }]);
  const { id } = await store.grantLease(60_000, { at: momentOf(systemClock) });
  server.intervene = ({ method }) => {
    if (method !== 'DELETE') return undefined;
    const now = fields(server.objects.get(map).body);
    const { uid, resourceVersion } = textFields(fields(now['metadata']));
    const metadata = { ...fields(fields(backup)['metadata']), uid, resourceVersion };
    server.objects.replace(map.slice(0, map.lastIndexOf('/')), map, { ...fields(backup), metadata });
    return undefined;
  };
  await expect(store.revokeLease(id)).rejects.toMatchObject({ code: 'CORRUPT', outcome: 'unknown' });
});
