/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields } from '../src/objects/json.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

it('a renewal restores the ttl that somebody has changed by hand', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const { id } = await store.grantLease(5_000, { at: momentOf(systemClock) });
  const path = `${LEASES}/${id.split('/')[0]}`;
  const object = fields((await server.call('GET', path)).body);
  await server.call('PUT', path, { ...object, spec: { ...fields(object['spec']), leaseDurationSeconds: 3_600 } });
  await store.renewLease(id, { at: momentOf(systemClock) });
  const { spec } = fields((await server.call('GET', path)).body);
  expect(fields(spec)['leaseDurationSeconds']).toBe(5);
});

it('a lease is kept for its whole ttl, so a renewal shortly before its end succeeds', async () => {
  await using server = await FakeApiServer.start();
  const clock = new ManualClock();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, clock });
  const { id } = await store.grantLease(100_000, { at: momentOf(clock) });
  await store.enqueue('q', 'a', new Uint8Array(1), id);
  await clock.advance(99_900);
  const at = momentOf(clock);
  expect(await store.renewLease(id, { at })).toEqual({ ttlMs: 100_000, validFrom: at });
  expect(await store.list('q')).toHaveLength(1);
});

it('a lease whose ttl has passed by the wall clock alone is ended instead of renewed', async () => {
  await using server = await FakeApiServer.start();
  const clock = new ManualClock();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, clock });
  const { id } = await store.grantLease(100_000, { at: momentOf(clock) });
  await store.enqueue('q', 'a', new Uint8Array(1), id);
  clock.advanceWall(100_000);
  await expect(store.renewLease(id, { at: momentOf(clock) })).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
  expect(await store.list('q')).toEqual([]);
});
