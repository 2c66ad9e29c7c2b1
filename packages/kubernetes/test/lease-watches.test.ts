/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer, type FakeRequest } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

const isLeaseWatch = ({ path, query }: FakeRequest): boolean => path === LEASES && query.get('watch') === 'true';

it('a lease that an operator deletes before the watch of it has begun takes its keys along', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const lease = await store.grantLease(60_000, { at: momentOf(systemClock) });
  await store.enqueue('q', 'a', new Uint8Array(1), lease.id);
  let refused = 0;
  let isDeleted = false;
  server.intervene = (request) => {
    if (isDeleted || !isLeaseWatch(request)) return undefined;
    refused += 1;
    return 'reset';
  };
  const watch = store.watchList('q')[Symbol.asyncIterator]();
  expect((await watch.next()).value).toHaveLength(1);
  await until(() => refused > 0, { what: 'a watch of the lease is asked for' });
  await server.call('DELETE', `${LEASES}/${lease.id.split('/')[0]}`);
  isDeleted = true;
  expect((await watch.next()).value).toEqual([]);
  await watch.return?.();
});

it('a watch of leases that the user lacks the right for is asked for once in every `watchMs`', async () => {
  await using server = await FakeApiServer.start();
  const address = { server: server.url, token: server.tokens.admin, keysResource: KEYS };
  await using holder = await openKubernetes(address);
  const lease = await holder.grantLease(600_000, { at: momentOf(systemClock) });
  await holder.enqueue('q', 'a', new Uint8Array(1), lease.id);
  const forbidden = { kind: 'Status', reason: 'Forbidden', message: 'leases is forbidden', code: 403 };
  server.intervene = (request) => (isLeaseWatch(request) ? { status: 403, body: forbidden } : undefined);
  const clock = new ManualClock();
  await using store = await openKubernetes({ ...address, clock });
  const watch = store.watchList('q')[Symbol.asyncIterator]();
  expect((await watch.next()).value).toHaveLength(1);
  const watches = (): number => server.requests.filter(isLeaseWatch).length;
  await until(() => watches() > 0, { what: 'a watch of the lease is asked for' });
  // Each round trip gives the store the time to ask again.
  for (let second = 0; second < 20; second += 1) {
    await clock.advance(1_000);
    await server.call('GET', LEASES);
  }
  expect(watches()).toBe(1);
  await until(
    async () => {
      await clock.advance(1_000);
      return watches() > 1;
    },
    { what: 'the watch is asked for again' },
  );
  await watch.return?.();
});
