/** A secret in a wrong place, such as a URL as a file name, is in no error and no output. */

import { openConsul } from '@incumbent/consul';
import { ElectionObserver, Member, StoredValueObserver } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { openMemory } from '@incumbent/memory';
import { openPostgres } from '@incumbent/postgres';
import { openRedis } from '@incumbent/redis';
import { openSqlite } from '@incumbent/sqlite';
import { openZookeeper } from '@incumbent/zookeeper';
import { openStore } from 'incumbent';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { TestConsole } from '../support/test-console.ts';
import { failureOf, MARKER, tracesOf } from '@incumbent/test-support/traces';

const openers: Readonly<Record<string, (target: never) => Promise<unknown>>> = {
  redis: openRedis,
  rediss: openRedis,
  valkey: openRedis,
  etcd: openEtcd,
  zookeeper: openZookeeper,
  consul: openConsul,
  sqlite: openSqlite,
  memory: openMemory,
};

let console: TestConsole;
beforeEach(() => {
  console = new TestConsole();
});
afterEach(async () => console[Symbol.asyncDispose]());

/** Everything that the command, `openStore` and the adapter print or throw for a URL. */
async function saidOf(url: string): Promise<readonly string[]> {
  const scheme = /^[a-z]+/.exec(url)?.[0] ?? '';
  const open = openers[scheme] ?? openRedis;
  const answers = [
    await console.run(['status', '--store', url], { open: openStore }),
    await console.run(['doctor', `--store=${url}`, '--json'], { open: openStore }),
    await console.run(['run', '--election', 'a', '--', 'true'], { env: { INCUMBENT_STORE: url }, open: openStore }),
  ];
  for (const { code } of answers) expect(code).toBeGreaterThan(1);
  const errors = [await failureOf(() => openStore(url)), await failureOf(() => Reflect.apply(open, undefined, [url]))];
  // The warning about a secret in --store does not quote the URL either.
  return [...answers.map(({ out, err }) => out + err), ...errors.map(tracesOf)];
}

const passwords = [
  `pa@${MARKER}`,
  `pa/${MARKER}`,
  `${MARKER}/pa`,
  `pa?${MARKER}`,
  `${MARKER}?pa`,
  `pa#${MARKER}`,
  `${MARKER}%`,
  `%zz${MARKER}`,
  `12/${MARKER}`,
  `12?${MARKER}=`,
  `12?connectTimeoutMs=${MARKER}`,
  `pa//@@${MARKER}`,
  `${MARKER}@/`,
  `${MARKER}\n@`,
  `[${MARKER}]@`,
];

describe.each([
  'postgres',
  'postgresql',
  'redis',
  'rediss',
  'redis+sentinel',
  'valkey',
  'etcd',
  'zookeeper',
  'consul',
  'sqlite',
  'memory',
  'mysql',
  'REDIS',
])('a URL of %s', (scheme) => {
  it.each(passwords)('does not show the password %j', async (password) => {
    const user = scheme === 'consul' ? '' : 'app';
    for (const said of await saidOf(`${scheme}://${user}:${password}@127.0.0.1:1/my-app`)) expect(said).not.toContain(MARKER);
  });
});

it.each([
  `app:${MARKER}@127.0.0.1:1`,
  `${MARKER}:@127.0.0.1:1`,
  MARKER.toLowerCase(),
  `${MARKER.toLowerCase()}:x`,
  `redis:app:${MARKER}@127.0.0.1:1`,
  `redis:/app:${MARKER}@127.0.0.1:1`,
  `redis://app:${MARKER}`,
  `redis://app:${MARKER}/my-app`,
  `redis://:${MARKER}`,
  `redis://app:${MARKER}%40127.0.0.1:1`,
  `redis://app:12/${MARKER}%40127.0.0.1:1`,
  `redis://app:${MARKER}@`,
  `redis://127.0.0.1:1?password=${MARKER}`,
  `redis://127.0.0.1:1?${MARKER}`,
  `redis://127.0.0.1:1?db=${MARKER}`,
  `rediss://127.0.0.1:1?key=${MARKER}`,
  `etcd://${MARKER}@127.0.0.1:1`,
  `etcd://127.0.0.1:1?keepaliveIntervalMs=${MARKER}`,
  `consul://${MARKER}@127.0.0.1:1`,
  `consul://127.0.0.1:1?session=${MARKER}`,
  `consul://127.0.0.1:1?dc=${MARKER}!`,
  `postgres://app:${MARKER}`,
  `postgres://app@127.0.0.1:1?sslmode=${MARKER}`,
  `postgres://app@127.0.0.1:1?password=${MARKER}`,
  `postgres://app@127.0.0.1:1?schema=${MARKER}`,
  `zookeeper://${MARKER}@127.0.0.1:1`,
  `zookeeper://127.0.0.1:1?acl=${MARKER}`,
])('%s is rejected without its secret', async (url) => {
  for (const said of await saidOf(url)) expect(said.toLowerCase()).not.toContain(MARKER.toLowerCase());
});

const url = `redis://app:${MARKER}@127.0.0.1:1/my-app`;

describe('the command', () => {
  it.each<readonly [string, readonly string[]]>([
    ['a misspelt option', ['status', `--stroe=${url}`]],
    ['joined short options', ['run', `-q${url}`, '--election', 'a', '--', 'true']],
    ['a command', [url, 'status']],
    ['one argument too many', ['leader', 'db', url]],
    ['the file', ['status', '--store-file', url]],
    ['the value', ['run', '--election', 'a', '--value', `{"token":"${MARKER}`, '--', 'true']],
  ])('does not show a secret in place of %s', async (_, args) => {
    const { code, out, err } = await console.run(args);
    expect(code).toBeGreaterThan(1);
    expect(out + err).not.toContain(MARKER);
  });

  it('names a store file that has no URL', async () => {
    expect(await console.run(['status', '--store-file', '/dev/null'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('/dev/null'),
    });
    expect(await console.run(['status', '--store-file', '/none'])).toMatchObject({ code: 2, err: expect.stringContaining('/none') });
  });
});

/** Wrong options of the stores that have endpoints and credentials. */
const misplaced: readonly (readonly [string, unknown])[] = [
  ['a list of URLs', [url]],
  ['an endpoint that is a URL', { endpoints: [url] }],
  ['an endpoint with a user', { endpoints: [`app:${MARKER}@a`] }],
  ['an endpoint whose port is a password', { endpoints: [`app:${MARKER}`] }],
  ['endpoints that are a URL', { endpoints: url }],
  ['endpoints that are an object', { endpoints: { url } }],
  ['credentials that are text', { endpoints: ['a'], credentials: `app:${MARKER}` }],
  ['credentials that are a list', { endpoints: ['a'], credentials: ['app', MARKER] }],
  ['a user that is an object', { endpoints: ['a'], credentials: { username: { MARKER }, password: 'x' } }],
  ['a user that is a list', { endpoints: ['a'], credentials: { username: [MARKER], password: 'x' } }],
  ['a password that is bytes', { endpoints: ['a'], credentials: { username: 'a', password: Buffer.from(MARKER) } }],
  ['a password under a misspelt name', { endpoints: ['a'], credentials: { username: 'a', pasword: MARKER } }],
  ['TLS that is a key', { endpoints: ['a'], tls: MARKER }],
  ['a key without its certificate', { endpoints: ['a'], tls: { key: MARKER } }],
  ['a secret under a misspelt name', { endpoints: ['a'], pasword: MARKER }],
];

const misplacedForConsul: readonly (readonly [string, unknown])[] = [
  ['a list of URLs', [url]],
  ['an endpoint that is a URL', { endpoint: url }],
  ['an endpoint that is a list of URLs', { endpoint: [url] }],
  ['an endpoint whose port is a password', { endpoint: `app:${MARKER}` }],
  ['a token that is a list', { endpoint: 'a', token: [MARKER] }],
  ['a token with a line end', { endpoint: 'a', token: `${MARKER}\n` }],
  ['a token in place of the datacenter', { endpoint: 'a', datacenter: `${MARKER}:` }],
  ['TLS that is a key', { endpoint: 'a', tls: MARKER }],
];

async function refusesWithout(open: (options: never) => unknown, options: unknown): Promise<void> {
  const error = await failureOf(() => Reflect.apply(open, undefined, [options]));
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(tracesOf(error)).not.toContain(MARKER);
}

describe.each([
  ['postgres', openPostgres],
  ['redis', openRedis],
  ['etcd', openEtcd],
  ['zookeeper', openZookeeper],
])('%s', (_name, open) => {
  it.each(misplaced)('rejects %s without its secret', (_, options) => refusesWithout(open, options));
});

it.each(misplacedForConsul)('consul rejects %s without its secret', (_, options) => refusesWithout(openConsul, options));

it('a user name with a colon is not shown, as it may contain the password', async () => {
  const credentials = { username: `app:${MARKER}`, password: 'x' };
  const error = await failureOf(() => openZookeeper({ endpoints: ['a'], credentials }));
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(tracesOf(error)).not.toContain(MARKER);
  expect(tracesOf(await failureOf(() => openZookeeper(`zookeeper://app%3A${MARKER}:x@a`)))).not.toContain(MARKER);
});

it.each([
  ['openStore', () => Reflect.apply(openStore, undefined, [[url]])],
  ['a member', () => Reflect.construct(Member, [url])],
  ['a list as a member', () => Reflect.construct(Member, [[url]])],
  ['an observer', () => Reflect.construct(ElectionObserver, [url, 'a'])],
  ['an observer of a stored value', () => Reflect.construct(StoredValueObserver, [url, 'a'])],
])('%s does not show a URL that it gets in place of something else', async (_, call) => {
  const error = await failureOf(call);
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(tracesOf(error)).not.toContain(MARKER);
});

it('a value that JSON cannot represent is not shown', async () => {
  const store = await openMemory();
  const member = new Member(store);
  const error = await failureOf(() => member.election('a', { value: { token: MARKER, count: 1n } }).campaign());
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(tracesOf(error)).not.toContain(MARKER);
  await member.close();
  await store.close();
});
