/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { connect, type Socket } from 'node:net';

import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer } from './fake/api-server.ts';

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
