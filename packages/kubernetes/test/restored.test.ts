/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields } from '../src/objects/json.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const MAPS = '/apis/test.example/v1/namespaces/default/configmaps';
const MAP = `${MAPS}/incumbent`;
const PUT = new Uint8Array(1);

it('a restored backup is noticed although the last change before it had no answer', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  await store.compareAndSwap([{ key: 'a', expect: null, put: PUT }]);
  const { body: backup } = await server.call('GET', MAP);
  await store.compareAndSwap([{ key: 'b', expect: null, put: PUT }]);
  server.intervene = ({ method }) => (method === 'PUT' ? 'reset' : undefined);
  await expect(store.compareAndSwap([{ key: 'c', expect: null, put: PUT }])).rejects.toMatchObject({ outcome: 'unknown' });
  server.intervene = () => undefined;
  const { body: now } = await server.call('GET', MAP);
  await server.call('PUT', MAP, { ...fields(now), data: fields(backup)['data'] });
  await expect(store.read('b')).rejects.toMatchObject({ code: 'CORRUPT' });
  await expect(store.compareAndSwap([{ key: 'b', expect: null, put: PUT }])).rejects.toMatchObject({ code: 'CORRUPT' });
});

it('a backup that was restored as another object is noticed', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  await store.compareAndSwap([{ key: 'a', expect: null, put: PUT }]);
  const { body: backup } = await server.call('GET', MAP);
  await store.compareAndSwap([{ key: 'b', expect: null, put: PUT }]);
  await server.call('DELETE', MAP);
  const { kind, data } = fields(backup);
  await server.call('POST', MAPS, { kind, metadata: { name: 'incumbent' }, data });
  await expect(store.read('b')).rejects.toMatchObject({ code: 'CORRUPT' });
  await expect(store.compareAndSwap([{ key: 'b', expect: null, put: PUT }])).rejects.toMatchObject({ code: 'CORRUPT' });
});

it('an object that was deleted begins anew', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const before = await store.compareAndSwap([{ key: 'a', expect: null, put: PUT }]);
  await server.call('DELETE', MAP);
  expect(await store.read('a')).toBeUndefined();
  const after = await store.compareAndSwap([{ key: 'a', expect: null, put: PUT }]);
  expect([before.swapped, after.swapped]).toEqual([true, true]);
  expect(before.swapped && after.swapped && before.revisions[0] === after.revisions[0]).toBe(false);
});
