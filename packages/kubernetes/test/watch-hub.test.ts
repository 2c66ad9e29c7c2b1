/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import type { Entry, StoreError } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer, type FakeRequest } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };

const OBJECT = '/apis/test.example/v1/namespaces/default/configmaps/incumbent';

const isKeyWatch = ({ path, query }: FakeRequest): boolean => path.endsWith('/configmaps') && query.get('watch') === 'true';

it('a watch whose version has expired goes on from the present state, without a storm of requests', async () => {
  await using server = await FakeApiServer.start();
  const address = { server: server.url, token: server.tokens.admin, keysResource: KEYS };
  await using store = await openKubernetes({ ...address, watchMs: 1_000 });
  await using other = await openKubernetes(address);
  const swap = await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }]);
  const [revision = ''] = swap.swapped ? swap.revisions : [];
  const seen: (Entry | undefined)[] = [];
  const end = new AbortController();
  const watching = (async () => {
    for await (const entry of store.watch('a', { signal: end.signal })) seen.push(entry);
  })();
  await until(() => server.requests.some(isKeyWatch), { what: 'the first watch begins' });
  // Another object changes, so that the version of the keys is too old after the compaction.
  await server.call('POST', '/apis/test.example/v1/namespaces/default/configmaps', { kind: 'ConfigMap', metadata: { name: 'other' } });
  server.objects.compact();
  const before = server.requests.length;
  const isAnew = (request: FakeRequest): boolean => isKeyWatch(request) && !request.query.has('resourceVersion');
  const anew = await until(
    () => {
      const index = server.requests.slice(before).findIndex(isAnew);
      return index === -1 ? undefined : index;
    },
    { what: 'a watch without a version' },
  );
  // A read, the watch that is refused, and another read.
  expect(anew).toBeLessThan(10);
  await other.compareAndSwap([{ key: 'a', expect: revision, put: new Uint8Array([2]) }]);
  await until(() => seen.at(-1)?.value[0] === 2, { what: 'the watch shows the change' });
  end.abort();
  await watching;
});

it('a swap begins with the state that a watch has shown, and so is one request', async () => {
  await using server = await FakeApiServer.start();
  const address = { server: server.url, token: server.tokens.admin, keysResource: KEYS, watchMs: 600_000 };
  await using store = await openKubernetes(address);
  await using other = await openKubernetes(address);
  const watch = store.watch('a')[Symbol.asyncIterator]();
  await watch.next();
  const change = await other.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
  expect((await watch.next()).value).toMatchObject({ key: 'a' });
  const [revision = ''] = change.swapped ? change.revisions : [];
  const before = server.requests.length;
  expect(await store.compareAndSwap([{ key: 'a', expect: revision, delete: true }])).toMatchObject({ swapped: true });
  expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['PUT']);
  await watch.return?.();
});

it('each of several watches that begin at once shows its first state, although they share one read', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, watchMs: 600_000 });
  const firsts = ['a', 'b', 'c'].map(async (key) => {
    const watch = store.watch(key)[Symbol.asyncIterator]();
    const { value } = await watch.next();
    await watch.return?.();
    return value;
  });
  expect(await Promise.all(firsts)).toEqual([undefined, undefined, undefined]);
});

it('a server that ends a watch at the end of the second that was asked for is not silent', async () => {
  await using server = await FakeApiServer.start();
  const clock = new ManualClock();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, watchMs: 5_001, clock });
  const stale: StoreError[] = [];
  const watch = store.watch('a', { onStale: (cause) => stale.push(cause) })[Symbol.asyncIterator]();
  await watch.next();
  const asked = await until(() => server.requests.find(isKeyWatch), { what: 'the watch begins' });
  expect(asked.query.get('timeoutSeconds')).toBe('6');
  await clock.advance(6_900);
  await server.call('GET', OBJECT);
  expect(stale).toEqual([]);
  await clock.advance(200);
  await until(() => stale.length > 0, { what: 'the server is found to be silent' });
  expect(stale[0]?.message).toContain('after 7000 ms');
  await watch.return?.();
});

it('a read that was answered before the object was deleted does not bring its keys back', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, watchMs: 600_000 });
  await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
  const shown: boolean[] = [];
  const end = new AbortController();
  const watching = (async () => {
    for await (const entry of store.watch('a', { signal: end.signal })) shown.push(entry !== undefined);
  })();
  await until(() => server.requests.some(isKeyWatch), { what: 'the first watch begins' });
  const { promise, resolve } = Promise.withResolvers<void>();
  let isHeld = false;
  server.hold = ({ method, path }) => {
    if (isHeld || method !== 'GET' || path !== OBJECT) return undefined;
    isHeld = true;
    return promise;
  };
  const second = store.watch('a')[Symbol.asyncIterator]();
  const first = second.next();
  await until(() => isHeld, { what: 'the second watch reads' });
  await server.call('DELETE', OBJECT);
  await until(() => shown.at(-1) === false, { what: 'the first watch shows that the key is gone' });
  resolve();
  expect((await first).value).toBeUndefined();
  end.abort();
  await Promise.all([watching, second.return?.()]);
  expect(shown).toEqual([true, false]);
});
