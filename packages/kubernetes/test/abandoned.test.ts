/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields } from '../src/objects/json.ts';
import { FakeApiServer, type FakeRequest } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

const isGrant = ({ method, path }: FakeRequest): boolean => method === 'POST' && path === LEASES;

async function leasesOf(server: FakeApiServer): Promise<number> {
  const { items } = fields((await server.call('GET', LEASES)).body);
  return Array.isArray(items) ? items.length : Number.NaN;
}

it('a grant that the server applies without an answer leaves no lease', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  server.intervene = (request) => {
    if (!isGrant(request)) return undefined;
    server.apply(request);
    return 'reset';
  };
  await expect(store.grantLease(5_000, { at: momentOf(systemClock) })).rejects.toMatchObject({ outcome: 'unknown' });
  await until(async () => (await leasesOf(server)) === 0, { what: 'the lease is deleted' });
});

it('a grant that the server applies late leaves no lease', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const deletions = (): number => server.requests.filter(({ method }) => method === 'DELETE').length;
  let late: FakeRequest | undefined;
  server.intervene = (request) => {
    if (!isGrant(request)) return undefined;
    late = request;
    return 'reset';
  };
  await expect(store.grantLease(5_000, { at: momentOf(systemClock) })).rejects.toMatchObject({ outcome: 'unknown' });
  await until(() => deletions() > 0, { what: 'a first deletion' });
  if (late === undefined) throw new Error('no grant');
  server.apply(late);
  await until(async () => (await leasesOf(server)) === 0, { what: 'the lease is deleted' });
});

it('a store that closes ends the lease whose revocation failed', async () => {
  await using server = await FakeApiServer.start();
  const store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const lease = await store.grantLease(60_000, { at: momentOf(systemClock) });
  await store.enqueue('q', 'a', new Uint8Array(1), lease.id);
  server.intervene = ({ method }) => (method === 'GET' ? undefined : 'reset');
  await expect(store.revokeLease(lease.id)).rejects.toMatchObject({ outcome: 'unknown' });
  server.intervene = () => undefined;
  await store.close();
  expect(await leasesOf(server)).toBe(0);
});

it('the keys of a revoked lease are gone with the first request, although its answer is lost', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const lease = await store.grantLease(60_000, { at: momentOf(systemClock) });
  await store.enqueue('q', 'a', new Uint8Array(1), lease.id);
  server.intervene = (request) => {
    if (request.method === 'GET') return undefined;
    server.apply(request);
    server.intervene = ({ method }) => (method === 'GET' ? undefined : 'reset');
    return 'reset';
  };
  await expect(store.revokeLease(lease.id)).rejects.toMatchObject({ outcome: 'unknown' });
  expect(await store.list('q')).toEqual([]);
});

it('a store that closes ends the lease whose grant is under way', async () => {
  await using server = await FakeApiServer.start();
  const store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  let isGranted = false;
  server.intervene = (request) => {
    if (!isGrant(request)) return undefined;
    server.apply(request);
    isGranted = true;
    return 'silent';
  };
  const grant = store.grantLease(60_000, { at: momentOf(systemClock), timeoutMs: 600_000 }).catch((error: unknown) => error);
  await until(() => isGranted, { what: 'the server grants the lease' });
  await store.close();
  expect(await grant).toMatchObject({ code: 'STORE_CLOSED', outcome: 'unknown' });
  expect(await leasesOf(server)).toBe(0);
});

it('a store that closes ends the lease whose revocation is under way', async () => {
  await using server = await FakeApiServer.start();
  const store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const lease = await store.grantLease(60_000, { at: momentOf(systemClock) });
  let isAsked = false;
  server.intervene = ({ method }) => {
    if (isAsked || method !== 'DELETE') return undefined;
    isAsked = true;
    return 'silent';
  };
  const revocation = store.revokeLease(lease.id, { timeoutMs: 600_000 }).catch((error: unknown) => error);
  await until(() => isAsked, { what: 'the server is asked to delete the lease' });
  await store.close();
  expect(await revocation).toMatchObject({ code: 'STORE_CLOSED', outcome: 'unknown' });
  expect(await leasesOf(server)).toBe(0);
});
