/**
 * On sockets, with a fake server in this process. The clock of the observing store is a manual one.
 */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields } from '../src/objects/json.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

async function leasesOf(server: FakeApiServer): Promise<number> {
  const { items } = fields((await server.call('GET', LEASES)).body);
  return Array.isArray(items) ? items.length : Number.NaN;
}

it.each([5_000, 120_000])('a lease of %i ms whose key was read once, and that nobody renews, ends', async (ttlMs) => {
  await using server = await FakeApiServer.start();
  const address = { server: server.url, token: server.tokens.admin, keysResource: KEYS };
  const holder = await openKubernetes(address);
  const { id } = await holder.grantLease(ttlMs, { at: momentOf(systemClock) });
  await holder.enqueue('q', 'a', new Uint8Array(1), id);
  await holder.close();
  const clock = new ManualClock();
  await using store = await openKubernetes({ ...address, clock });
  expect(await store.list('q')).toHaveLength(1);
  await until(
    async () => {
      await clock.advance(1_000);
      return (await leasesOf(server)) === 0;
    },
    { what: 'the lease is deleted' },
  );
});
