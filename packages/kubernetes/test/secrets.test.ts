/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { inspect } from 'node:util';

import type { StoreError } from '@incumbent/core';
import { until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };

it.each([
  ['that is no JSON', 200, (token: string) => token],
  ['that is JSON and no object', 200, (token: string) => JSON.stringify(token)],
  ['that is an error', 400, (token: string) => `authorization: Bearer ${token}`],
])('an answer %s and repeats the token does not get it into the error', async (_, status, answer) => {
  await using server = await FakeApiServer.start();
  const token = server.tokens.admin;
  await using store = await openKubernetes({ server: server.url, token, keysResource: KEYS });
  server.intervene = () => ({ status, text: answer(token) });
  const error: unknown = await store.read('a').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect(inspect(error, { depth: 9 })).not.toContain(token);
});

it('an event of a watch that is an error and repeats the token does not get it into the error', async () => {
  await using server = await FakeApiServer.start();
  const token = server.tokens.admin;
  await using store = await openKubernetes({ server: server.url, token, keysResource: KEYS });
  const object = { kind: 'Status', code: 500, message: `authorization: Bearer ${token}` };
  server.intervene = ({ query }) =>
    query.has('watch') ? { status: 200, text: `${JSON.stringify({ type: 'ERROR', object })}\n` } : undefined;
  const stop = new AbortController();
  const causes: StoreError[] = [];
  const watch = store.watch('a', { signal: stop.signal, onStale: (cause) => causes.push(cause) });
  await watch[Symbol.asyncIterator]().next();
  await until(() => causes[0], { what: 'the failure of the watch' });
  expect(inspect(causes, { depth: 9 })).toContain('authorization');
  expect(inspect(causes, { depth: 9 })).not.toContain(token);
  stop.abort();
});
