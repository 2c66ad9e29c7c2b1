/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };

it('reads that were aborted before an answer do not hold up the next ones', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  let reads = 0;
  server.intervene = () => {
    reads += 1;
    return 'silent';
  };
  for (let count = 1; count <= 20; count += 1) {
    const end = new AbortController();
    const read = store.read('a', { timeoutMs: 600_000, signal: end.signal }).catch(() => 'aborted');
    await until(() => reads === count, { what: `request ${count}` });
    end.abort();
    expect(await read).toBe('aborted');
  }
  server.intervene = () => undefined;
  expect(await store.read('a', { timeoutMs: 20_000 })).toBeUndefined();
});
