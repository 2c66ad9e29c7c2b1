/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import type { Clock } from '@incumbent/core';
import { momentOf, systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields, textFields } from '../src/objects/json.ts';
import { FakeApiServer, type FakeRequest } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const MAPS = '/apis/test.example/v1/namespaces/default/configmaps';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

const at = momentOf(systemClock);

function addressOf(server: FakeApiServer): { readonly server: string; readonly token: string; readonly keysResource: typeof KEYS } {
  return { server: server.url, token: server.tokens.admin, keysResource: KEYS };
}

async function countOf(server: FakeApiServer): Promise<number> {
  const { body } = await server.call('GET', `${MAPS}/incumbent`);
  return Number(textFields(fields(fields(body)['data']))['_count']);
}

it('the deletion of the keys of a lease is a change with a number of its own', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes(addressOf(server));
  const lease = await store.grantLease(60_000, { at });
  await store.enqueue('q', 'a', new Uint8Array(1), lease.id);
  const before = await countOf(server);
  await store.revokeLease(lease.id);
  expect(await countOf(server)).toBe(before + 1);
});

it('a change that is too large ends its own call only, although it shares a request', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes(addressOf(server));
  const put = new Uint8Array(64 * 1_024).fill(97);
  const changes = Array.from({ length: 16 }, (_, index) => ({ key: `large/${index}`, expect: null, put }));
  const both = [store.compareAndSwap(changes), store.compareAndSwap([{ key: 'small', expect: null, put: new Uint8Array(1) }])];
  expect(await Promise.allSettled(both)).toMatchObject([
    { status: 'rejected', reason: { code: 'TOO_LARGE', outcome: 'refused' } },
    { status: 'fulfilled', value: { swapped: true } },
  ]);
});

it('many leases that a call has met are looked at by one request', async () => {
  await using server = await FakeApiServer.start();
  await using holder = await openKubernetes(addressOf(server));
  await using other = await openKubernetes(addressOf(server));
  for (const name of 'abcdefgh') {
    const lease = await holder.grantLease(60_000, { at });
    await holder.enqueue('q', name, new Uint8Array(1), lease.id);
  }
  const before = server.requests.length;
  expect(await other.list('q')).toHaveLength(8);
  const reads = (): readonly FakeRequest[] => server.requests.slice(before).filter(({ path }) => path.startsWith(LEASES));
  await until(() => reads().length > 0, { what: 'a look at the leases' });
  expect(reads().map(({ path }) => path)).toEqual([LEASES]);
});

it('a lease that a list lacks is looked at by itself, and keeps its keys', async () => {
  await using server = await FakeApiServer.start();
  await using holder = await openKubernetes(addressOf(server));
  await using other = await openKubernetes(addressOf(server));
  const ids: string[] = [];
  for (const name of 'abcdefgh') {
    const lease = await holder.grantLease(60_000, { at });
    ids.push(lease.id);
    await holder.enqueue('q', name, new Uint8Array(1), lease.id);
  }
  const path = `${LEASES}/${ids[0]?.split('/')[0]}`;
  const { body } = await server.call('GET', path);
  const { labels: _, ...metadata } = fields(fields(body)['metadata']);
  expect((await server.call('PUT', path, { ...fields(body), metadata: { ...metadata, labels: {} } })).status).toBe(200);
  const before = server.requests.length;
  expect(await other.list('q')).toHaveLength(8);
  await until(() => server.requests.slice(before).some((request) => request.path === path), { what: 'a look at that lease' });
  expect(await other.list('q')).toHaveLength(8);
});

it('keys of an object that somebody else has filled can still be deleted', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes(addressOf(server));
  const lease = await store.grantLease(60_000, { at });
  await store.enqueue('q', 'a', new Uint8Array(1), lease.id);
  const path = `${MAPS}/incumbent`;
  const object = fields((await server.call('GET', path)).body);
  const data = { ...fields(object['data']), other: 'x'.repeat(1_010_000) };
  expect((await server.call('PUT', path, { ...object, data })).status).toBe(200);
  await store.revokeLease(lease.id);
  expect(await store.list('q')).toEqual([]);
});

/** The clock of a test may pass while a request is on its way. */
const PATIENT = { timeoutMs: 60_000 };

/** Changes the key `a` as another process would, when the server receives the next change. */
function changeFirst(server: FakeApiServer, meanwhile: () => unknown = () => {}): void {
  server.intervene = ({ method, path }) => {
    if (method !== 'PUT' || !path.startsWith(MAPS)) return undefined;
    server.intervene = () => undefined;
    meanwhile();
    const { body } = server.objects.get(path);
    const data = textFields(fields(fields(body)['data']));
    const count = Number(data['_count']) + 1;
    server.objects.replace(MAPS, path, { ...fields(body), data: { ...data, _count: String(count), a: `1 ${count} text\nchanged` } });
    return undefined;
  };
}

/** The requests for the object with the keys, without watches. */
function exchangesOf({ requests }: FakeApiServer): readonly string[] {
  return requests.filter(({ path, query }) => path.startsWith(MAPS) && !query.has('watch')).map(({ method }) => method);
}

it('after a refused change, a store continues with the state that its watch has shown', async () => {
  await using server = await FakeApiServer.start();
  const clock = new ManualClock();
  await using store = await openKubernetes({ ...addressOf(server), clock });
  await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
  const states = store.watch('a')[Symbol.asyncIterator]();
  await states.next();
  const before = exchangesOf(server).length;
  changeFirst(server);
  const change = store.compareAndSwap([{ key: 'b', expect: null, put: new Uint8Array(1) }], PATIENT);
  await states.next();
  await untilSettled(clock, change);
  expect(exchangesOf(server).slice(before)).toEqual(['PUT', 'PUT']);
  await states.return?.();
});

it('after a refused change without a watch, a store reads the state', async () => {
  await using server = await FakeApiServer.start();
  const clock = new ManualClock();
  await using store = await openKubernetes({ ...addressOf(server), clock });
  await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
  const before = exchangesOf(server).length;
  changeFirst(server);
  await untilSettled(clock, store.compareAndSwap([{ key: 'b', expect: null, put: new Uint8Array(1) }], PATIENT));
  expect(exchangesOf(server).slice(before)).toEqual(['PUT', 'GET', 'PUT']);
});

it('the first pause after a refused change is at most as long as the attempt took', async () => {
  await using server = await FakeApiServer.start();
  const delaysMs: number[] = [];
  let attemptMs = 0;
  const clock = new ManualClock();
  const recorded: Clock = {
    monotonic: () => clock.monotonic() + attemptMs,
    wall: () => clock.wall(),
    keepAlive: () => clock.keepAlive(),
    schedule: (delayMs, task) => {
      delaysMs.push(delayMs);
      return clock.schedule(delayMs, task);
    },
  };
  await using store = await openKubernetes({ ...addressOf(server), clock: recorded });
  await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
  changeFirst(server, () => (attemptMs = 600));
  delaysMs.length = 0;
  const change = store.compareAndSwap([{ key: 'b', expect: null, put: new Uint8Array(1) }], PATIENT);
  const pauses = (): readonly number[] => delaysMs.filter((delayMs) => delayMs >= 300 && delayMs <= 600);
  // The clock stands still until then, so the attempt has taken exactly 600 ms.
  await until(() => pauses().length > 0, { what: 'a pause of at most 600 ms' });
  await untilSettled(clock, change);
  expect(pauses()).toHaveLength(1);
});

/** Moves the clock until the call has settled. */
async function untilSettled(clock: ManualClock, call: Promise<unknown>): Promise<void> {
  let isSettled = false;
  void call.finally(() => (isSettled = true));
  await until(
    async () => {
      await clock.advance(20);
      return isSettled;
    },
    { what: 'the call settles' },
  );
  await call;
}
