/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { describe, expect, it } from 'vitest';

import { FakeApiServer } from './fake/api-server.ts';
import { failure } from './fake/objects.ts';
import { openKubernetes } from '../src/index.ts';
import { KEYS } from './harness.ts';

const at = momentOf(systemClock);

function deny(server: FakeApiServer, denied: (method: string, path: string) => boolean): void {
  server.intervene = ({ method, path }) => (denied(method, path) ? failure(403, 'Forbidden', 'not permitted') : undefined);
}

describe('an error names the right of the request that was denied, and not that of the whole call', () => {
  it('of a swap that creates the object with the keys', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    deny(server, (method, path) => method === 'POST' && path.endsWith('/configmaps'));
    const swap = store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }]);
    await expect(swap).rejects.toMatchObject({ code: 'PERMISSION_DENIED', details: { right: 'create configmaps' } });
  });

  it('of a swap that reads the lease that it binds keys to', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    const { id } = await store.grantLease(60_000, { at });
    deny(server, (method, path) => method === 'GET' && path.includes('/leases/'));
    const swap = store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(), lease: id }]);
    await expect(swap).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      outcome: 'unknown',
      details: { right: 'get leases', grant: expect.stringContaining('coordination.k8s.io') },
    });
  });

  it('of the version', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    deny(server, (_, path) => path === '/version');
    await expect(store.inspect?.()).rejects.toMatchObject({ code: 'PERMISSION_DENIED', details: { right: 'get /version' } });
  });
});
