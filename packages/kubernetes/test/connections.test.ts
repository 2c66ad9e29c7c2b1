/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };

it('a burst of calls opens at most 16 connections, and all calls succeed', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const grants = Array.from({ length: 50 }, () => store.grantLease(60_000, { at: momentOf(systemClock), timeoutMs: 30_000 }));
  const ids = (await Promise.all(grants)).map(({ id }) => id);
  expect(new Set(ids).size).toBe(50);
  // One connection was opened for the first read.
  expect(server.connections).toBeLessThanOrEqual(17);
});

it('a renewal does not wait for the other calls of its store', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const at = momentOf(systemClock);
  const { id } = await store.grantLease(60_000, { at });
  server.intervene = ({ method }) => (method === 'POST' ? 'silent' : undefined);
  const ahead = Array.from({ length: 16 }, () => store.grantLease(60_000, { at, timeoutMs: 30_000 }));
  const closed = Promise.allSettled(ahead);
  await expect(store.renewLease(id, { at, timeoutMs: 20_000 })).resolves.toMatchObject({ ttlMs: 60_000 });
  await store.close();
  expect((await closed).every(({ status }) => status === 'rejected')).toBe(true);
});

it('a call that waits for the others of its store ends by its own timeout, and was not sent', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  server.intervene = () => 'silent';
  const at = momentOf(systemClock);
  const ahead = Array.from({ length: 16 }, () => store.grantLease(60_000, { at, timeoutMs: 30_000 }));
  const closed = Promise.allSettled(ahead);
  await expect(store.grantLease(60_000, { at, timeoutMs: 50 })).rejects.toMatchObject({ outcome: 'notSent' });
  await store.close();
  expect((await closed).every(({ status }) => status === 'rejected')).toBe(true);
});

it('a connection on which the server has rejected the credentials is not used again, and neither are the idle ones', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const at = momentOf(systemClock);
  await Promise.all([store.grantLease(60_000, { at }), store.grantLease(60_000, { at })]);
  const before = server.connections;
  server.intervene = () => ({ status: 401, text: 'the certificate has expired' });
  await expect(store.read('a')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  server.intervene = () => undefined;
  await Promise.all([store.read('a'), store.grantLease(60_000, { at })]);
  // One more for the second try of the first read.
  expect(server.connections).toBe(before + 3);
});

describe('after all idle connections became silent, one timeout suffices', () => {
  it.each(['renewal', 'read', 'swap'] as const)('of a %s', async (kind) => {
    await using server = await FakeApiServer.start();
    const clock = new ManualClock();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, clock });
    const at = momentOf(clock);
    const [lease] = await Promise.all([0, 1, 2, 3].map(() => store.grantLease(60_000, { at })));
    if (lease === undefined) throw new Error('no lease');
    const call = {
      renewal: () => store.renewLease(lease.id, { at, timeoutMs: 1_000 }),
      read: () => store.read('a', { timeoutMs: 1_000 }),
      swap: () => store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }], { timeoutMs: 1_000 }),
    }[kind];
    expect(server.silenceConnections()).toBeGreaterThanOrEqual(3);
    const before = server.requests.length;
    const silent = Promise.allSettled([call()]);
    await until(() => server.requests.length > before, { what: 'the request' });
    await clock.advance(1_000);
    expect(await silent).toMatchObject([{ status: 'rejected', reason: { code: 'TIMEOUT' } }]);
    await call();
    expect(server.silenceConnections()).toBe(1);
  });

  it('but not after the caller has aborted', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    const at = momentOf(systemClock);
    const { id } = await store.grantLease(60_000, { at });
    await Promise.all([0, 1, 2, 3].map(() => store.renewLease(id, { at })));
    const opened = server.connections;
    server.intervene = () => 'silent';
    const caller = new AbortController();
    const before = server.requests.length;
    const aborted = Promise.allSettled([store.renewLease(id, { at, signal: caller.signal })]);
    await until(() => server.requests.length > before, { what: 'the request' });
    caller.abort(new Error('enough'));
    expect(await aborted).toMatchObject([{ status: 'rejected', reason: { message: 'enough' } }]);
    server.intervene = () => undefined;
    await store.renewLease(id, { at });
    expect(server.connections).toBe(opened);
  });
});

it('a connection that breaks without an answer takes the idle ones with it', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const at = momentOf(systemClock);
  const [lease] = await Promise.all([0, 1, 2, 3].map(() => store.grantLease(60_000, { at })));
  if (lease === undefined) throw new Error('no lease');
  server.silenceConnections();
  const opened = server.connections;
  server.intervene = () => 'reset';
  await expect(store.renewLease(lease.id, { at })).rejects.toMatchObject({ outcome: 'unknown' });
  server.intervene = () => undefined;
  await expect(store.renewLease(lease.id, { at })).resolves.toMatchObject({ ttlMs: 60_000 });
  expect(server.connections).toBe(opened + 1);
});
