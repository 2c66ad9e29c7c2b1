/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer } from './fake/api-server.ts';
import { failure } from './fake/objects.ts';
import { KEYS } from './harness.ts';

const value = new Uint8Array(1);

it.each([
  { what: 'namespace', message: 'namespaces "my-ap" not found', why: 'the namespace my-ap does not exist' },
  {
    what: 'resource',
    message: 'the server could not find the requested resource',
    why: 'the server has no resource leases.coordination.k8s.io',
  },
])('a lease in a $what that does not exist is refused for good', async ({ message, why }) => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({
    server: server.url,
    token: server.tokens.admin,
    keysResource: KEYS,
    namespace: 'my-ap',
  });
  server.intervene = ({ method }) => (method === 'POST' ? failure(404, 'NotFound', message) : undefined);
  await expect(store.grantLease(60_000, { at: momentOf(systemClock) })).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    outcome: 'refused',
    message: expect.stringContaining(why),
  });
});

it('the first key in a namespace that does not exist is refused for good', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, namespace: 'my-ap' });
  server.intervene = ({ method }) => (method === 'POST' ? failure(404, 'NotFound', 'namespaces "my-ap" not found') : undefined);
  await expect(store.compareAndSwap([{ key: 'a', expect: null, put: value }])).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    outcome: 'refused',
    message: expect.stringContaining('the namespace my-ap does not exist'),
  });
});
