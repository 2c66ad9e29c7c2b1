/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { Member } from '@incumbent/core';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { dataName } from '../src/keys/codec.ts';
import { fields, textFields } from '../src/objects/json.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const MAP = '/apis/test.example/v1/namespaces/default/configmaps/incumbent';

/** What an operator may do with `kubectl patch`. */
async function patch(server: FakeApiServer, key: string, text: string): Promise<void> {
  const object = fields((await server.call('GET', MAP)).body);
  const data = { ...textFields(fields(object['data'])), [dataName(key)]: text };
  expect((await server.call('PUT', MAP, { ...object, data })).status).toBe(200);
}

it('a key whose text was replaced by hand is present, and a list skips it', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const put = new TextEncoder().encode('before');
  await store.compareAndSwap(['q/a', 'q/b'].map((key) => ({ key, expect: null, put })));
  const before = await store.read('q/a');
  await patch(server, 'q/a', 'by hand');
  const after = await store.read('q/a');
  expect(Buffer.from(after?.value ?? []).toString()).toBe('by hand');
  expect(after?.revision).not.toBe(before?.revision);
  expect((await store.list('q')).map(({ name }) => name)).toEqual(['b']);
  for (const expected of [null, before?.revision ?? null])
    expect(await store.compareAndSwap([{ key: 'q/a', expect: expected, put }])).toMatchObject({ swapped: false });
  expect(await store.compareAndSwap([{ key: 'q/a', expect: after?.revision ?? null, delete: true }])).toMatchObject({ swapped: true });
});

it('the terms of an election do not begin again after the last term was replaced by hand', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  {
    await using leader = new Member(store);
    await leader.election('controller').campaign();
  }
  await patch(server, 'elections/controller/term', '{"v":1,"term":"7"}');
  await using next = new Member(store);
  await expect(next.election('controller').campaign()).rejects.toMatchObject({ code: 'FOREIGN_DATA' });
});
