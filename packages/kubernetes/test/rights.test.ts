/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import type { Entry, Store, StoreError } from '@incumbent/core';
import { momentOf, systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { FakeApiServer, type FakeRequest } from './fake/api-server.ts';
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

const isKeyWatch = ({ path, query }: FakeRequest): boolean => path.endsWith('/configmaps') && query.get('watch') === 'true';

/** The watch of one key, and what it has reported. */
class Watching {
  readonly states: (Entry | undefined)[] = [];
  readonly causes: StoreError[] = [];
  readonly ended: Promise<unknown>;

  constructor(store: Store) {
    this.ended = this.#follow(store).catch((error: unknown) => error);
  }

  async #follow(store: Store): Promise<void> {
    for await (const entry of store.watch('a', { onStale: (cause) => this.causes.push(cause) })) this.states.push(entry);
  }
}

describe('a right that the store has used, and that the server then denies,', () => {
  it('is unavailable: the watch is stale, and goes on when the server grants it again', async () => {
    await using server = await FakeApiServer.start();
    const clock = new ManualClock();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, clock });
    const watching = new Watching(store);
    await until(() => server.requests.some(isKeyWatch), { what: 'the watch begins' });
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
    await until(() => watching.states.length === 2, { what: 'the watch shows a change' });
    let denials = 0;
    server.intervene = (request) => {
      if (denials > 0 || !isKeyWatch(request)) return undefined;
      denials += 1;
      return failure(403, 'Forbidden', 'configmaps is forbidden');
    };
    // The watch ends because the server seems to be silent.
    await clock.advance(31_000);
    await until(() => advanced(clock, () => denials > 0), { what: 'the server denies the next watch' });
    await until(() => watching.causes.some(({ message }) => message.includes('granted this right before')), { what: 'the watch is stale' });
    expect(watching.causes.at(-1)).toMatchObject({ code: 'UNAVAILABLE', outcome: 'refused' });
    const shown = watching.states.length;
    await until(() => advanced(clock, () => watching.states.length > shown), { what: 'the watch shows a state again' });
    await store.close();
    expect(await watching.ended).toMatchObject({ code: 'STORE_CLOSED' });
  });

  it('is missing after 5 minutes', async () => {
    await using server = await FakeApiServer.start();
    const clock = new ManualClock();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, clock });
    const denied = { code: 'PERMISSION_DENIED', details: { right: 'get configmaps' } };
    deny(server, (method) => method === 'GET');
    await expect(store.read('a')).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'refused' });
    await clock.advance(299_999);
    await expect(store.read('a')).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'refused' });
    await clock.advance(1);
    await expect(store.read('a')).rejects.toMatchObject(denied);
    server.intervene = () => undefined;
    await store.read('a');
    deny(server, (method) => method === 'GET');
    await expect(store.read('a')).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'refused' });
  });
});

/** Lets a second pass, and says whether the condition holds. */
async function advanced(clock: ManualClock, condition: () => boolean): Promise<boolean> {
  await clock.advance(1_000);
  return condition();
}
