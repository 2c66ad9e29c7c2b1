/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer } from './fake/api-server.ts';
import { KEYS } from './harness.ts';

it('keys of characters that JSON escapes can be read as long as they can be written', async () => {
  await using server = await FakeApiServer.start();
  const options = { server: server.url, token: server.tokens.admin, keysResource: KEYS };
  await using store = await openKubernetes(options);
  const puts = Array.from({ length: 15 }, (_, key) => ({ key: `big/${key}`, expect: null, put: new Uint8Array(65_000) }));
  await store.compareAndSwap(puts, { timeoutMs: 20_000 });
  await using other = await openKubernetes(options);
  expect(await other.list('big')).toHaveLength(15);
});
