import {
  ElectionAdmin,
  ElectionObserver,
  Fence,
  lead,
  Member,
  openStore,
  PartitionedElection,
  rendezvous,
  SlotElection,
  StoredValueObserver,
  withLock,
} from 'incumbent';
import { ElectionHost } from 'incumbent/host';
import { openConsul } from '@incumbent/consul';
import { openEtcd } from '@incumbent/etcd';
import { openKubernetes, publishLeader } from '@incumbent/kubernetes';
import { MemoryServer, openMemory } from '@incumbent/memory';
import { openPostgres } from '@incumbent/postgres';
import { openRedis } from '@incumbent/redis';
import { openSqlite } from '@incumbent/sqlite';
import { openZookeeper } from '@incumbent/zookeeper';
import { describe, expect, it } from 'vitest';

import { hostOptions, leadUrlOptions, lockOptions, openStoreOptions } from '../site/reference/incumbent-option-help.ts';
import * as calls from '../site/reference/option-help.ts';
import type { OptionHelp } from '../site/reference/option-help.ts';
import * as kubernetes from '../site/reference/kubernetes-option-help.ts';
import * as memory from '../site/reference/memory-option-help.ts';
import * as slots from '../site/reference/slot-option-help.ts';
import * as stores from '../site/reference/store-option-help.ts';
import { textOf } from '../../test/repo/workspace.ts';

type Options = Readonly<Record<string, OptionHelp>>;

/** A call that checks its options before it does anything else. */
type Check = (options: never) => unknown;

const store = new MemoryServer().connect();
const member = new Member(store);
const election = member.election('options');
const work = (): void => {};

const { memberOptions, electionOptions, leadOptions } = calls;
const { acceptWeakStore } = electionOptions;

function without(options: Options, names: readonly string[]): Options {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)));
}

/** The options of a member that `withLock` takes. */
const membersOfLocks = without(memberOptions, ['memberId', 'onDuplicate', 'host', 'rebalanceEveryMs']);

/** Every table, by the name of its type, and a call that takes the options. */
const tables: readonly (readonly [name: string, Options, Check])[] = [
  ['MemberOptions', memberOptions, (options) => new Member(store, options)],
  ['ElectionOptions', electionOptions, (options) => new Member(store).election('other', options)],
  ['SuccessionOptions', calls.successionOptions, (options) => rendezvous(options)],
  ['LeadOptions', leadOptions, (options) => election.lead(work, options)],
  ['SignalOptions', calls.signalOptions, (options) => election.campaign(options)],
  ['SignalOptions', calls.signalOptions, (options) => election.tryLead(work, options)],
  [
    'SlotOptions',
    { ...electionOptions, ...slots.slotOptions },
    (options) => new SlotElection(new Member(store), 'options', Object.assign({ slots: 1 }, options)),
  ],
  [
    'PartitionOptions',
    { ...without(electionOptions, ['succession']), ...slots.partitionOptions },
    (options) => new PartitionedElection(new Member(store), 'options', Object.assign({ partitions: 1 }, options)),
  ],
  ['ShutdownOptions', calls.shutdownOptions, (options) => new Member(store).shutdown(options)],
  ['GroupOptions', calls.groupOptions, (options) => new Member(store).group('options', options)],
  ['ObserverOptions', calls.observerOptions, (options) => new ElectionObserver(store, 'options', options)],
  ['StoredValueObserverOptions', calls.storedValueObserverOptions, (options) => new StoredValueObserver(store, 'options', options)],
  ['ElectionAdminOptions', calls.adminOptions, (options) => new ElectionAdmin(store, 'options', options)],
  ['FenceOptions', calls.fenceOptions, (options) => new Fence(options)],
  ['OpenStoreOptions', openStoreOptions, (options) => openStore('memory:', options)],
  [
    'LeadUrlOptions',
    { ...openStoreOptions, ...memberOptions, ...electionOptions, ...leadOptions, ...leadUrlOptions },
    (options) => lead('memory:', 'options', work, options),
  ],
  ['LockOptions', { ...membersOfLocks, acceptWeakStore, ...lockOptions }, (options) => withLock(store, 'lock', work, options)],
  ['HostOptions', hostOptions, (options) => ElectionHost.open(Object.assign({ store: 'memory:', onFailure: work }, options))],
  ['SqliteOptions', stores.sqliteOptions, (options) => openSqlite(Object.assign({ file: '/nowhere/state.db' }, options))],
  ['EtcdOptions', stores.etcdOptions, (options) => openEtcd(Object.assign({ endpoints: ['127.0.0.1:1'] }, options))],
  ['KeepaliveOptions', stores.keepaliveOptions, (keepalive) => openEtcd({ endpoints: ['127.0.0.1:1'], keepalive })],
  ['ZookeeperOptions', stores.zookeeperOptions, (options) => openZookeeper(Object.assign({ endpoints: ['127.0.0.1:1'] }, options))],
  ['ConsulOptions', stores.consulOptions, (options) => openConsul(Object.assign({ endpoint: '127.0.0.1:1' }, options))],
  [
    'KubernetesOptions',
    kubernetes.kubernetesOptions,
    (options) => openKubernetes(Object.assign({ server: 'https://127.0.0.1:1' }, options)),
  ],
  ['KeysResource', kubernetes.keysResourceOptions, (keysResource) => openKubernetes({ server: 'https://127.0.0.1:1', keysResource })],
  [
    'PublishOptions',
    kubernetes.publishOptions,
    (options) => publishLeader(store, election, Object.assign({ lease: 'options', onError: work }, options)),
  ],
  ['PodLabel', kubernetes.podLabelOptions, (podLabel) => publishLeader(store, election, { lease: 'options', podLabel, onError: work })],
  [
    'PostgresOptions',
    without(stores.postgresOptions, ['pool']),
    (options) => openPostgres(Object.assign({ endpoints: ['127.0.0.1:1'], credentials: { username: 'app' } }, options)),
  ],
  [
    'PostgresPoolOptions',
    without(stores.postgresOptions, ['endpoints', 'credentials', 'database', 'tls', 'connect']),
    (options) => openPostgres(Object.assign({ pool: { connect: () => Promise.reject(new Error()) } }, options)),
  ],
  [
    'RedisOptions',
    without(stores.redisOptions, ['client']),
    (options) => openRedis(Object.assign({ endpoints: ['127.0.0.1:1'] }, options)),
  ],
  [
    'SentinelOptions',
    stores.sentinelOptions,
    (options) => openRedis({ sentinel: Object.assign({ endpoints: ['127.0.0.1:1'], master: 'm' }, options) }),
  ],
  ['MemoryOptions', memory.memoryOptions, (options) => openMemory(options)],
  ['MemoryServerOptions', memory.memoryServerOptions, (options) => new MemoryServer(options)],
  ['TlsOptions', stores.tlsOptions, (tls) => openEtcd({ endpoints: ['127.0.0.1:1'], tls })],
];

/** The message with which a call refuses these options. Fails if it does not. */
async function refusal(check: Check, options: object): Promise<string> {
  const error: unknown = await Promise.resolve()
    .then(() => Reflect.apply(check, undefined, [options]))
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  return String(error);
}

/** What the words of the tables mean for the default ttl of 10,000 ms. */
const WORDS: Readonly<Record<string, number>> = {
  '`ttlMs`': 10_000,
  'half of `ttlMs`': 5_000,
  'a third of `ttlMs`': 10_000 / 3,
  'a quarter of `ttlMs`': 2_500,
  'a tenth of `ttlMs`': 1_000,
  'a twentieth of `ttlMs`': 500,
};

function numberOf(value: number | string): number {
  const number = typeof value === 'number' ? value : WORDS[value];
  if (number === undefined) throw new TypeError(`the test knows no number for "${value}"`);
  return number;
}

describe.each(tables)('the options of %s', (_, options, check) => {
  it('are those that the code accepts', async () => {
    const message = await refusal(check, { nonsense: 1 });
    const known = /the options are (.*)$/.exec(message)?.[1]?.split(', ');
    expect(known?.toSorted()).toEqual(Object.keys(options).toSorted());
  });

  it('that are numbers have the range that the code has', async () => {
    const said: unknown[] = [];
    for (const [name, range] of rangesOf(options)) {
      const message = await refusal(check, { [name]: Number.NaN });
      said.push([name, /a number from (\S+) to (\S+)/.exec(message)?.slice(1).map(Number), range.map(numberOf)]);
    }
    expect(said).toEqual(rangesOf(options).map(([name, range]) => [name, range.map(numberOf), range.map(numberOf)]));
  });
});

/** The options that a caller must pass: for all types, and for single ones. */
const REQUIRED = ['file', 'endpoint', 'endpoints', 'server', 'slots', 'partitions', 'lease', 'onError', 'master', 'pool'];
const REQUIRED_OF: Readonly<Record<string, readonly string[]>> = {
  KeysResource: Object.keys(kubernetes.keysResourceOptions),
  PodLabel: ['name', 'value'],
  HostOptions: ['store', 'onFailure'],
  PostgresOptions: ['credentials'],
};

describe.each(tables)('the options of %s', (name, options, check) => {
  it('may be undefined, as if they were absent', async () => {
    const optional = Object.keys(without(options, [...REQUIRED, ...(REQUIRED_OF[name] ?? [])]));
    const absent = Object.fromEntries(optional.map((option) => [option, undefined]));
    // The refusal of the one value that is wrong comes before, between or after the other checks.
    for (const [option] of rangesOf(options))
      expect(await refusal(check, { ...absent, [option]: Number.NaN })).toContain(`${option} is NaN`);
    const given = name === 'PodLabel' ? { name: 'leads', value: 'yes' } : {};
    const brief = optional.includes('connectTimeoutMs') ? { connectTimeoutMs: 1_000 } : {};
    const refused: unknown = await Promise.resolve()
      .then(() => Reflect.apply(check, undefined, [{ ...absent, ...given, ...brief }]))
      .then(() => undefined)
      .catch((reason: unknown) => reason);
    // There is no server, and `publishLeader` refuses the store.
    if (refused !== undefined) expect(refused).toHaveProperty('code');
    for (const option of optional) expect(refused).not.toMatchObject({ details: { option: expect.stringMatching(`\\b${option}$`) } });
  });
});

function rangesOf(options: Options): readonly (readonly [name: string, range: readonly (number | string)[]])[] {
  return Object.entries(options).flatMap(([name, { range }]) => (range === undefined || typeof range === 'string' ? [] : [[name, range]]));
}

const SRC = { core: 'packages/core/src', incumbent: 'packages/incumbent/src' };

describe('the defaults', () => {
  it('of durations are those of a member', () => {
    const { timing } = member;
    const listed = Object.keys(timing).map((name) => [name, numberOf({ ...memberOptions }[name]?.fallback ?? '')]);
    expect(Object.fromEntries(listed)).toEqual({ ...timing });
  });

  it('of a memory server are those of its store', () => {
    const { capabilities } = store;
    const listed = Object.entries(memory.memoryServerOptions).flatMap(([name, { fallback }]) =>
      typeof fallback === 'number' ? [[name, fallback]] : [],
    );
    expect(listed).toHaveLength(5);
    expect(capabilities).toMatchObject(Object.fromEntries(listed));
  });

  it.each([
    [`${SRC.core}/member/member.ts`, { rebalanceEveryMs: memberOptions.rebalanceEveryMs }],
    [`${SRC.core}/observer/observer.ts`, calls.observerOptions],
    [`${SRC.core}/observer/stored-value-observer.ts`, calls.storedValueObserverOptions],
    [`${SRC.core}/observer/admin.ts`, calls.adminOptions],
    [`${SRC.incumbent}/open-store.ts`, openStoreOptions],
    [`${SRC.incumbent}/host.ts`, hostOptions],
    [`${SRC.incumbent}/partitions/partitioned-election.ts`, slots.partitionOptions],
    ['packages/sqlite/src/options.ts', stores.sqliteOptions],
    ['packages/etcd/src/options.ts', { ...stores.etcdOptions, ...stores.keepaliveOptions }],
    ['packages/zookeeper/src/options.ts', stores.zookeeperOptions],
    ['packages/consul/src/options.ts', stores.consulOptions],
    ['packages/kubernetes/src/options.ts', kubernetes.kubernetesOptions],
    ['packages/kubernetes/src/publish/options.ts', kubernetes.publishOptions],
    ['packages/postgres/src/options.ts', stores.postgresOptions],
    ['packages/redis/src/options.ts', stores.redisOptions],
    ['packages/memory/src/options.ts', { latencyMs: memory.memoryOptions.latencyMs }],
  ] satisfies readonly (readonly [file: string, Options])[])('in %s are those of the doc comments', (file, options) => {
    const numbers = Object.entries<OptionHelp>(options).filter(([, { fallback }]) => typeof fallback === 'number');
    expect(numbers).not.toEqual([]);
    const documented = numbers.map(([name]) => [name, /Default (\d[\d,]*\b|\d)/.exec(docOf(file, name))?.[1]]);
    expect(documented).toEqual(numbers.map(([name, { fallback }]) => [name, fallback?.toLocaleString('en-US')]));
  });
});

/** The doc comment of a property. */
function docOf(file: string, property: string): string {
  const comment = new RegExp(String.raw`/\*\*((?:(?!\*/)[^])*)\*/\s+readonly ${property}\?:`).exec(textOf(file))?.[1] ?? '';
  return comment.replaceAll(/\s+(?:\* )?/g, ' ');
}

describe('the parameters of the URLs', () => {
  const networkTls = Object.values(stores.tlsOptions);

  it.each([
    ['sqlite:/nowhere/state.db', Object.values(stores.sqliteOptions), []],
    ['etcds://127.0.0.1:1/x', [...Object.values(stores.etcdOptions), ...Object.values(stores.keepaliveOptions)], networkTls],
    ['zookeepers://127.0.0.1:1/x', Object.values(stores.zookeeperOptions), networkTls],
    ['consuls://127.0.0.1:1/x', Object.values(stores.consulOptions), networkTls],
    ['kubernetes://context/x/y', Object.values(kubernetes.kubernetesOptions), []],
    ['rediss://127.0.0.1:1/x', Object.values(stores.redisOptions), networkTls],
    ['rediss+sentinel://127.0.0.1:1/x', [...Object.values(stores.redisOptions), ...Object.values(stores.sentinelOptions)], networkTls],
  ] satisfies readonly (readonly [url: string, readonly OptionHelp[], readonly OptionHelp[]])[])(
    'of %s are those that the code accepts',
    async (url, options, tls) => {
      const message = await refusal(() => openStore(`${url}?nonsense=1`), {});
      const known = /one of (.*)$/.exec(message)?.[1]?.split(', ');
      const listed = [...options, ...tls].flatMap(({ parameter }) => (parameter === undefined ? [] : parameter.split(', ')));
      expect(known?.toSorted()).toEqual(listed.toSorted());
    },
  );
});
