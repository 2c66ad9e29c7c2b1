/**
 * A secret in the wrong option, or in any part of a URL, is shown by nothing: no error, no event,
 * no store and no member.
 */

import { openConsul, type ConsulOptions, type TlsOptions } from '@incumbent/consul';
import {
  ElectionObserver,
  StoredValueObserver,
  type StoredValueObserverOptions,
  ElectionAdmin,
  Member,
  type ElectionOptions,
  type LeadOptions,
  type MemberOptions,
  type ObserverOptions,
} from '@incumbent/core';
import { openEtcd, type Credentials, type EtcdOptions, type KeepaliveOptions } from '@incumbent/etcd';
import { openMemory, type MemoryOptions, type MemoryServerOptions } from '@incumbent/memory';
import { openPostgres, type PostgresOptions, type PostgresPoolOptions } from '@incumbent/postgres';
import { openRedis, type RedisOptions, type SentinelOptions } from '@incumbent/redis';
import { openSqlite, type SqliteOptions } from '@incumbent/sqlite';
import { failureOf, MARKER, misplacedIn, type OptionTable, showing, tracesOf } from '@incumbent/test-support/traces';
import { openZookeeper, type ZookeeperOptions } from '@incumbent/zookeeper';
import { lead, openStore, withLock, type LeadUrlOptions, type LockOptions } from 'incumbent';
import { describe, expect, it } from 'vitest';

import { EventRecorder } from '../support/event-recorder.ts';

/** The text of a call's result or error, and of all events during the call. */
async function saidBy(call: () => unknown): Promise<readonly string[]> {
  using events = new EventRecorder();
  const texts: string[] = [];
  try {
    const made: unknown = await call();
    texts.push(tracesOf(made));
    if (typeof made === 'object' && made !== null && 'close' in made && typeof made.close === 'function')
      await Reflect.apply(made.close, made, []);
  } catch (error) {
    texts.push(tracesOf(error));
  }
  return [...texts, ...events.texts];
}

const calls = (open: (options: never) => unknown, options: unknown): (() => unknown) => {
  return () => Reflect.apply(open, undefined, [options]);
};

const rights: OptionTable<Credentials> = { username: 'described', password: 'described' };
const tls: OptionTable<TlsOptions> = {
  ca: 'described',
  cert: 'described',
  key: 'described',
  servername: 'shown',
  rejectUnauthorized: 'described',
};
const link = { namespace: 'shown', connectTimeoutMs: 'described', tls: 'described', connect: 'described', clock: 'described' } as const;
const redis: OptionTable<RedisOptions> = { ...link, endpoints: 'shown', sentinel: 'described', db: 'described', credentials: 'described' };
const sentinel: OptionTable<SentinelOptions> = { endpoints: 'shown', master: 'described', credentials: 'described', tls: 'described' };
const etcd: OptionTable<EtcdOptions> = {
  namespace: 'shown',
  connectTimeoutMs: 'described',
  tls: 'described',
  connect: 'described',
  endpoints: 'shown',
  credentials: 'described',
  keepalive: 'described',
};
const postgres: OptionTable<PostgresOptions> = {
  ...link,
  endpoints: 'shown',
  credentials: 'described',
  database: 'described',
  schema: 'described',
  migrate: 'described',
  trustDurability: 'described',
};
const pooled: OptionTable<PostgresPoolOptions> = {
  pool: 'described',
  namespace: 'shown',
  connectTimeoutMs: 'described',
  clock: 'described',
  schema: 'described',
  migrate: 'described',
  trustDurability: 'described',
};
const zookeeper: OptionTable<ZookeeperOptions> = { ...link, endpoints: 'shown', credentials: 'described', acl: 'described' };
const consul: OptionTable<ConsulOptions> = {
  ...link,
  endpoint: 'shown',
  token: 'described',
  datacenter: 'shown',
  consulNamespace: 'shown',
  session: 'described',
  lockDelayMs: 'described',
  minSessionTtlMs: 'described',
  watchWaitMs: 'described',
  maxBlockingQueries: 'described',
};
const sqlite: OptionTable<SqliteOptions> = {
  file: 'path',
  namespace: 'shown',
  connectTimeoutMs: 'described',
  moved: 'described',
  endsWithProcess: 'described',
};
const memory: OptionTable<MemoryOptions> = {
  name: 'shown',
  namespace: 'shown',
  server: 'described',
  latencyMs: 'described',
  clock: 'described',
};
const memoryServer: OptionTable<MemoryServerOptions> = {
  clock: 'described',
  linearizable: 'described',
  termSource: 'described',
  minTtlMs: 'described',
  maxTtlMs: 'described',
  assignableLease: 'described',
  revisionsSurviveDeletion: 'described',
  endsEarly: 'public',
  swapSharesRevision: 'described',
  maxChanges: 'described',
  maxValueBytes: 'described',
  maxKeysPerLease: 'described',
};
const keepalive: OptionTable<KeepaliveOptions> = { intervalMs: 'described', timeoutMs: 'described' };

/** Nothing listens at this address. */
const NOWHERE = '127.0.0.1:1';
const servers = { endpoints: [NOWHERE], connectTimeoutMs: 100 };
const watched = { sentinel: { endpoints: [NOWHERE], master: 'm' }, connectTimeoutMs: 100 };
const login = { ...servers, credentials: { username: 'app', password: 'x' } };
const agent = { endpoint: NOWHERE, connectTimeoutMs: 100 };

/**
 * The store, how it is opened, its other options, the option that the table describes (undefined
 * for all of them), and the table.
 */
type Row = readonly [
  what: string,
  open: (options: never) => unknown,
  base: object,
  inside: string | undefined,
  table: OptionTable<Record<string, unknown>>,
];

const rows: readonly Row[] = [
  ['redis', openRedis, servers, undefined, redis],
  ['redis', openRedis, watched, undefined, redis],
  ['redis', openRedis, { connectTimeoutMs: 100 }, 'sentinel', sentinel],
  ['postgres', openPostgres, login, undefined, postgres],
  ['postgres', openPostgres, { pool: { connect: () => Promise.reject(new Error('nobody')) } }, undefined, pooled],
  ['etcd', openEtcd, servers, undefined, etcd],
  ['zookeeper', openZookeeper, servers, undefined, zookeeper],
  ['consul', openConsul, agent, undefined, consul],
  ['sqlite', openSqlite, { file: '/none/state.db' }, undefined, sqlite],
  ['memory', openMemory, {}, undefined, memory],
  ['memory', openMemory, {}, 'server', memoryServer],
  ['etcd', openEtcd, servers, 'keepalive', keepalive],
  ...[openPostgres, openRedis, openEtcd, openZookeeper].map((open): Row => [open.name, open, servers, 'credentials', rights]),
  ...[openRedis, openEtcd, openZookeeper].map((open): Row => [open.name, open, servers, 'tls', tls]),
  ['postgres', openPostgres, login, 'tls', tls],
  ['consul', openConsul, agent, 'tls', tls],
];

describe.each(rows)('%s', (_, open, base, inside, table) => {
  it.each(misplacedIn(table))(`${inside ?? 'the option'} %s does not show %o`, async (option, value) => {
    const wrong = { [option]: value };
    const beside = inside === 'credentials' ? { username: 'app', password: 'x', ...wrong } : wrong;
    const options = { ...base, ...(inside === undefined ? wrong : { [inside]: beside }) };
    expect(showing(await saidBy(calls(open, options)))).toEqual([]);
  });
});

/** A URL with the marker in one part, and whether that part is a name, which is shown. */
const parts: readonly (readonly [scheme: string, part: string, url: string])[] = [
  'postgres',
  'redis',
  'rediss',
  'redis+sentinel',
  'rediss+sentinel',
  'valkey',
  'etcd',
  'etcds',
  'zookeeper',
  'consul',
].flatMap((scheme) => [
  [scheme, 'user', `${scheme}://${MARKER}:x@${NOWHERE}?connectTimeoutMs=100`],
  [scheme, 'user alone', `${scheme}://${MARKER}@${NOWHERE}`],
  [scheme, 'password', `${scheme}://app:${MARKER}@${NOWHERE}?connectTimeoutMs=100`],
  [scheme, 'password alone', `${scheme}://:${MARKER}@${NOWHERE}?connectTimeoutMs=100`],
  [scheme, 'port', `${scheme}://127.0.0.1:${MARKER}`],
  [scheme, 'port of the second host', `${scheme}://${NOWHERE},127.0.0.1:${MARKER}`],
  [scheme, 'namespace', `${scheme}://${NOWHERE}/${MARKER}!`],
  [scheme, 'name of a parameter', `${scheme}://${NOWHERE}?${MARKER}=1`],
  [scheme, 'name of a parameter alone', `${scheme}://${NOWHERE}?${MARKER}`],
  [scheme, 'fragment', `${scheme}://${NOWHERE}#${MARKER}`],
]);

const localParts = [
  ['sqlite', 'name of a parameter', `sqlite:/none/state.db?${MARKER}=1`],
  ['sqlite', 'name of a parameter alone', `sqlite:/none/state.db?${MARKER}`],
  ['sqlite', 'fragment', `sqlite:/none/state.db#${MARKER}`],
  ['memory', 'parameter', `memory:a?${MARKER}=1`],
  ['memory', 'fragment', `memory:a#${MARKER}`],
  ['memory', 'password', `memory://app:${MARKER}@a`],
] as const;

describe('a URL', () => {
  it.each([...parts, ...localParts])('of %s does not show its %s', async (_, __, url) => {
    expect(showing(await saidBy(() => openStore(url)))).toEqual([]);
  });

  // An adapter that rejects a parameter lists those that it knows, so none can be missing here.
  it.each([
    'postgres',
    'redis',
    'rediss',
    'redis+sentinel',
    'rediss+sentinel',
    'valkeys',
    'etcd',
    'etcds',
    'zookeeper',
    'zookeepers',
    'consul',
    'consuls',
    'sqlite',
  ])('of %s shows the value of no parameter', async (scheme) => {
    const start = scheme === 'sqlite' ? 'sqlite:/none/state.db' : `${scheme}://${scheme === 'postgres' ? 'app@' : ''}${NOWHERE}`;
    const refusal = String(await failureOf(() => openStore(`${start}?none=1`)));
    const names = /must be one of (?<names>.*)$/.exec(refusal)?.groups?.['names']?.split(', ') ?? [];
    expect(names).toContain('connectTimeoutMs');
    for (const name of names) {
      // A namespace is shown, unless it looks like a URL with credentials.
      const values = name === 'namespace' ? [] : [MARKER, `12${MARKER}`];
      for (const value of [...values, `a:${MARKER}%40`, `redis:%2F%2F:${MARKER}`])
        expect(showing(await saidBy(() => openStore(`${start}?connectTimeoutMs=100&${name}=${value}`)))).toEqual([]);
    }
  });
});

const memberOptions: OptionTable<MemberOptions> = {
  memberId: 'shown',
  onDuplicate: 'described',
  rebalanceEveryMs: 'described',
  host: 'shown',
  reaper: 'described',
  renewIn: 'described',
  maxBlockedMs: 'described',
  logger: 'described',
  clock: 'described',
  random: 'described',
  ttlMs: 'described',
  renewEveryMs: 'described',
  retryEveryMs: 'described',
  callTimeoutMs: 'described',
  drainMs: 'described',
  clockErrorRatio: 'described',
  successorClaimTimeoutMs: 'described',
};
const values = { parse: 'described', codec: 'described' } as const;
const observerOptions: OptionTable<ObserverOptions> = {
  ...values,
  callTimeoutMs: 'described',
  logger: 'described',
  clock: 'described',
  random: 'described',
};
const storedValueObserverOptions: OptionTable<StoredValueObserverOptions> = {
  ...values,
  maxAgeMs: 'described',
  logger: 'described',
  clock: 'described',
  random: 'described',
};
const electionOptions: OptionTable<ElectionOptions> = {
  ...values,
  value: 'described',
  succession: 'described',
  minTerm: 'described',
  acceptWeakStore: 'shown',
  onElected: 'described',
  onEnded: 'described',
};

const leadOptions: OptionTable<LeadOptions> = { signal: 'described', once: 'described', retry: 'described' };
const leadUrlOptions: OptionTable<LeadUrlOptions> = {
  ...memberOptions,
  ...electionOptions,
  ...leadOptions,
  waitMs: 'described',
  onRetry: 'described',
  stopOn: 'described',
};
const { memberId: _id, onDuplicate: _duplicate, rebalanceEveryMs: _rebalance, ...lockMemberOptions } = memberOptions;
const lockOptions: OptionTable<LockOptions> = {
  ...lockMemberOptions,
  acceptWeakStore: 'shown',
  signal: 'described',
  acquireTimeoutMs: 'described',
  stopOn: 'described',
};

type Store = Awaited<ReturnType<typeof openMemory>>;

async function leadOn(store: Store, options: object): Promise<void> {
  await using member = new Member(store);
  await member.election('a').lead(() => {}, options);
}

describe.each<readonly [string, OptionTable<Record<string, unknown>>, (store: Store, options: object) => unknown]>([
  ['Member', memberOptions, (store, options) => new Member(store, options)],
  ['Member.election', electionOptions, (store, options) => new Member(store).election('a', options)],
  ['Election.lead', leadOptions, leadOn],
  ['lead', leadUrlOptions, (_, options) => lead('memory:', 'a', () => {}, { stopOn: [], ...options })],
  ['withLock', lockOptions, (store, options) => withLock(store, 'a', () => {}, options)],
  ['Member.group', { ...values, value: 'described' }, (store, options) => new Member(store).group('a', options)],
  ['Member.shutdown', { handover: 'described', timeoutMs: 'described' }, (store, options) => new Member(store).shutdown(options)],
  ['ElectionObserver', observerOptions, (store, options) => new ElectionObserver(store, 'a', options)],
  ['StoredValueObserver', storedValueObserverOptions, (store, options) => new StoredValueObserver(store, 'a', options)],
  ['ElectionAdmin', { ...values, callTimeoutMs: 'described' }, (store, options) => new ElectionAdmin(store, 'a', options)],
])('%s', (_, table, make) => {
  it.each(misplacedIn(table))('does not show the option %s, %o', async (option, value) => {
    await using store = await openMemory();
    expect(showing(await saidBy(() => make(store, { [option]: value })))).toEqual([]);
  });

  it('does not show options that are a secret or a list of secrets', async () => {
    await using store = await openMemory();
    for (const options of [MARKER, [MARKER], { [`:${MARKER}@`]: 1 }])
      expect(showing(await saidBy(() => Reflect.apply(make, undefined, [store, options])))).toEqual([]);
  });
});
