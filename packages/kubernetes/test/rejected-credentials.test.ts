/**
 * On sockets, with a fake server in this process. One test waits for a second, until the server
 * ends a watch.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Member } from '@incumbent/core';
import { systemClock } from '@incumbent/core/adapter';
import { makeScratch, until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { givenAccess } from '../src/client/access.ts';
import { Client } from '../src/client/client.ts';
import { connectDirectly } from '../src/client/connections.ts';
import { openKubernetes } from '../src/index.ts';
import { FakeApiServer, type FakeRequest } from './fake/api-server.ts';
import { failure } from './fake/objects.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };

const unauthorized = failure(401, 'Unauthorized', 'Unauthorized');
const isKeyWatch = ({ path, query }: FakeRequest): boolean => path.endsWith('/configmaps') && query.get('watch') === 'true';

/** The server rejects the credentials of the first of these requests, and of no other one. */
function rejectOnce(server: FakeApiServer, isConcerned: (request: FakeRequest) => boolean): { isDone: boolean } {
  const rejection = { isDone: false };
  server.intervene = (request) => {
    if (rejection.isDone || !isConcerned(request)) return undefined;
    rejection.isDone = true;
    return unauthorized;
  };
  return rejection;
}

it('a call whose credentials are rejected once succeeds', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const rejection = rejectOnce(server, ({ method }) => method === 'GET');
  await expect(store.read('a')).resolves.toBeUndefined();
  expect(rejection.isDone).toBe(true);
  // The second one was opened with the credentials of now: a client certificate belongs to its
  // connection.
  expect(server.connections).toBe(2);
});

it('a watch whose credentials are rejected once goes on, without being stale', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS, watchMs: 600_000 });
  const rejection = rejectOnce(server, isKeyWatch);
  const causes: unknown[] = [];
  const watch = store.watch('a', { onStale: (cause) => causes.push(cause) })[Symbol.asyncIterator]();
  await watch.next();
  await until(() => server.requests.filter(isKeyWatch).length === 2, { what: 'the watch is asked for again' });
  await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array(1) }]);
  expect((await watch.next()).value).toMatchObject({ key: 'a' });
  expect(rejection.isDone).toBe(true);
  expect(causes).toEqual([]);
  await watch.return?.();
});

it('a candidate whose watch is rejected once stays in the election', async () => {
  await using server = await FakeApiServer.start();
  const address = { server: server.url, token: server.tokens.admin, keysResource: KEYS };
  await using first = await openKubernetes({ ...address, watchMs: 600_000 });
  await using second = await openKubernetes({ ...address, watchMs: 1_000 });
  await using leader = new Member(first, { memberId: 'leader' });
  await using candidate = new Member(second, { memberId: 'candidate' });
  const leadership = await leader.election('e').campaign();
  const isOfCandidate = (request: FakeRequest): boolean => isKeyWatch(request) && request.query.get('timeoutSeconds') === '1';
  const leads = candidate.election('e').lead(({ term }) => term, { once: true });
  const outcome = leads.catch((error: unknown) => error);
  await until(() => server.requests.some(isOfCandidate), { what: 'the candidate waits' });
  // The server ends the watch after a second.
  const rejection = rejectOnce(server, isOfCandidate);
  await until(() => rejection.isDone, { what: 'the next watch of the candidate is rejected' });
  const { length } = server.requests.filter(isOfCandidate);
  await until(() => server.requests.filter(isOfCandidate).length > length, { what: 'the candidate watches again' });
  await leadership.resign();
  expect(await outcome).toBe(2n);
});

it('of many requests that are rejected together, one reads the credentials again', async () => {
  await using server = await FakeApiServer.start();
  let reads = 0;
  const access = {
    ...givenAccess(new URL(server.url), undefined, undefined),
    credentials: async () => {
      reads += 1;
      return { headers: { authorization: `Bearer ${server.tokens.admin}` }, tls: undefined };
    },
  };
  const client = new Client({ access, connect: connectDirectly, connectTimeoutMs: 5_000, clock: systemClock });
  const read = (): Promise<unknown> => client.request({ method: 'GET', path: '/version' }, { timeoutMs: 30_000 });
  await read();
  expect(reads).toBe(1);
  let rejections = 0;
  server.intervene = () => {
    rejections += 1;
    return rejections <= 8 ? unauthorized : undefined;
  };
  await Promise.all(Array.from({ length: 8 }, () => read()));
  expect(rejections).toBe(16);
  expect(reads).toBe(2);
  await client.close();
});

it('an exec plug-in is asked again when the server rejects a token that has not expired', async () => {
  await using server = await FakeApiServer.start();
  const folder = await makeScratch('kubeconfig');
  const answer = join(folder.path, 'answer.json');
  const kubeconfig = join(folder.path, 'kubeconfig');
  const giveToken = (token: string): Promise<void> =>
    writeFile(answer, JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } }));
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'cat', args: [answer], interactiveMode: 'Never' };
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'test', user: { exec } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  await giveToken(server.tokens.admin);
  await using store = await openKubernetes({ kubeconfig, keysResource: KEYS });
  server.tokens.admin = 'the-next-token';
  await giveToken(server.tokens.admin);
  await expect(store.read('a')).resolves.toBeUndefined();
  await folder.remove();
});
