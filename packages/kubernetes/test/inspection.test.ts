/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import type { Store } from '@incumbent/core';
import { expect, it } from 'vitest';

import { neededRights } from '../src/inspection.ts';
import { openKubernetes } from '../src/index.ts';
import { MAX_DATA_BYTES } from '../src/limits.ts';
import { fields, parseObject, textFields, type Fields } from '../src/objects/json.ts';
import { microTime } from '../src/objects/lease.ts';
import { FakeApiServer } from './fake/api-server.ts';
import { failure } from './fake/objects.ts';
import { KEYS } from './harness.ts';
import { roleRights } from './manifests.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const HOUR_MS = 3_600_000;

function open(server: FakeApiServer): Promise<Store> {
  return openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
}

function attributesIn(body: string): Fields {
  return fields(fields(parseObject(body)['spec'])['resourceAttributes']);
}

/** The server answers reviews of access, and denies these rights: `list leases`. */
function review(server: FakeApiServer, denied: readonly string[] = []): void {
  server.intervene = ({ method, path, body }) => {
    if (method !== 'POST' || !path.endsWith('/selfsubjectaccessreviews')) return undefined;
    const { verb, resource } = textFields(attributesIn(body));
    return { status: 201, body: { status: { allowed: !denied.includes(`${verb} ${resource}`) } } };
  };
}

async function addLease(server: FakeApiServer, name: string, ageMs: number): Promise<void> {
  const renewTime = microTime(Date.now() - ageMs, 0);
  const { status } = await server.call('POST', LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, labels: { 'incumbent/prefix': 'incumbent' } },
    spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 10, renewTime },
  });
  expect(status).toBe(201);
}

it('needs exactly the rights of the Role', () => {
  const names = { namespace: 'default', prefix: 'incumbent', keys: { ...KEYS, apiVersion: 'v1' } };
  const needed = neededRights(names).map(({ verb, resource }) => `${verb} ${resource}`);
  expect(new Set(needed)).toEqual(new Set(roleRights().map(({ verb, resource }) => `${verb} ${resource}`)));
});

it('reports the version, all rights, and an empty object', async () => {
  await using server = await FakeApiServer.start();
  review(server);
  await using store = await open(server);
  expect(await store.inspect?.()).toEqual({
    version: '1.36.4',
    facts: [
      { what: 'rights', detail: 'all that the store needs' },
      { what: 'keys', detail: `0 in the ConfigMap incumbent: 0 of ${MAX_DATA_BYTES} bytes (0.0 %)` },
      { what: 'leases', detail: "0; not renewed for 3 ttls, by this machine's clock: 0" },
      { what: 'priority', detail: 'none: the API server puts requests into no priority level' },
    ],
    warnings: [],
  });
});

it('asks for the rights on the one object with the keys by its name, except to create it', async () => {
  await using server = await FakeApiServer.start();
  review(server);
  await using store = await open(server);
  await store.inspect?.();
  const asked = server.requests.filter(({ path }) => path.endsWith('reviews')).map(({ body }) => attributesIn(body));
  expect(asked).toContainEqual({
    namespace: 'default',
    verb: 'update',
    group: KEYS.apiVersion.split('/')[0],
    resource: 'configmaps',
    name: 'incumbent',
  });
  expect(asked).toContainEqual({ namespace: 'default', verb: 'create', group: KEYS.apiVersion.split('/')[0], resource: 'configmaps' });
  expect(asked).toContainEqual({ namespace: 'default', verb: 'delete', group: 'coordination.k8s.io', resource: 'leases' });
});

it('names each missing right, what it costs, and the rule that grants it', async () => {
  await using server = await FakeApiServer.start();
  review(server, ['update configmaps', 'watch leases']);
  await using store = await open(server);
  const report = await store.inspect?.();
  expect(report?.facts?.[0]?.detail).toBe('missing: update configmaps, watch leases');
  expect(report?.warnings).toEqual([
    expect.stringMatching(
      /^the user may not update configmaps: elections do not work; .*resources: \["configmaps"\], verbs: \["update"\]$/,
    ),
    expect.stringMatching(/^the user may not watch leases: a dead member .*apiGroups: \["coordination.k8s.io"\].*verbs: \["watch"\]$/),
  ]);
});

it('says that the rights are not known if the server answers no reviews', async () => {
  await using server = await FakeApiServer.start();
  await using store = await open(server);
  const report = await store.inspect?.();
  expect(report?.facts?.[0]?.detail).toMatch(/^not known/);
  expect(report?.warnings).toEqual([]);
});

it('takes no review without a decision for a missing right', async () => {
  await using server = await FakeApiServer.start();
  server.intervene = ({ path }) => (path.endsWith('/selfsubjectaccessreviews') ? { status: 201, body: { status: {} } } : undefined);
  await using store = await open(server);
  const report = await store.inspect?.();
  expect(report?.facts?.[0]?.detail).toBe('not known: the API server has not answered a SelfSubjectAccessReview');
  expect(report?.warnings).toEqual([]);
});

it('warns of an object that is nearly full', async () => {
  await using server = await FakeApiServer.start();
  await using store = await open(server);
  const puts = Array.from({ length: 15 }, (_, key) => ({ key: `big/${key}`, expect: null, put: new Uint8Array(60_000) }));
  await store.compareAndSwap(puts, { timeoutMs: 20_000 });
  const report = await store.inspect?.();
  expect(report?.facts?.[1]?.detail).toMatch(/^15 in the ConfigMap incumbent: /);
  expect(report?.warnings).toEqual([expect.stringContaining('fail with TOO_LARGE')]);
});

it('finds leases that nobody renews, with and without keys', async () => {
  await using server = await FakeApiServer.start();
  await using store = await open(server);
  await using other = await open(server);
  const { id } = await store.grantLease(10_000, { at: momentOf(systemClock) });
  await store.compareAndSwap([{ key: 'members/a', expect: null, put: new Uint8Array(), lease: id }]);
  await addLease(server, 'incumbent-young', 20_000);
  await addLease(server, 'incumbent-old', HOUR_MS);
  const before = await other.inspect?.();
  expect(before?.facts?.[2]?.detail).toBe("3; not renewed for 3 ttls, by this machine's clock: 1");
  expect(before?.warnings).toEqual([
    expect.stringMatching(
      /^the lease incumbent-old of pod-1 was last renewed 3600 s ago and has no keys, .*kubectl delete lease -n default incumbent-old$/,
    ),
  ]);
  const path = `${LEASES}/${id.split('/')[0]}`;
  const lease = fields((await server.call('GET', path)).body);
  await server.call('PUT', path, { ...lease, spec: { ...fields(lease['spec']), renewTime: microTime(Date.now() - HOUR_MS, 0) } });
  expect((await other.inspect?.())?.warnings).toContainEqual(expect.stringContaining('nobody who runs depends on it'));
});

it('reports nothing about leases that the user may not list', async () => {
  await using server = await FakeApiServer.start();
  server.intervene = ({ method, path }) => (method === 'GET' && path === LEASES ? failure(403, 'Forbidden', 'no') : undefined);
  await using store = await open(server);
  expect((await store.inspect?.())?.facts?.[2]?.detail).toMatch(/^not known/);
});
