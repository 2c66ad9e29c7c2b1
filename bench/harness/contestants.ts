/** The contestants of each store, and how each is started. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programsOf } from '@incumbent/test-support';
import type { Program } from './driver.ts';
import type { Stage, StoreName } from './stage.ts';
import { type BuildOptions, clientGoProgram, curatorProgram, goProgram, kazooProgram } from './toolchains.ts';

interface ProgramOptions extends BuildOptions {
  /** Whether to use the packages as they would be published instead of their sources. */
  readonly built: boolean;
}

export interface Contestant {
  /** The name in tables. */
  readonly name: string;
  readonly store: StoreName;
  /** `floor`: no election, but one notification and one swap. */
  readonly kind: 'ours' | 'peer' | 'floor';
  /** Both candidates live in one process, because the store does. */
  readonly oneProcess?: boolean;
  /** How long a candidate may take to enter the queue, in ms. */
  readonly settleMs: number;
  /** Whether one driver can have many candidates or elections without a process for each. */
  readonly many: boolean;
  /** Whether the library has an observer. */
  readonly observes: boolean;
  /** Rejects with the reason if the program is not available. */
  program(options: ProgramOptions): Promise<Program>;
  /** The value of `--url`. */
  address(stage: Stage, namespace: string, url: string): string;
  readonly mode: string;
  /** The prefix that the library adds to its keys. */
  readonly keyPrefix?: string;
  /** Commands that the library sends to Redis, in addition to scripts. */
  readonly commands?: readonly string[];
}

/**
 * A driver in TypeScript, on this process's Node. With `built`, in JavaScript, using the packages
 * as they would be published.
 */
const script =
  (name: string) =>
  async ({ built }: ProgramOptions): Promise<Program> => {
    const file = fileURLToPath(new URL(built ? `../dist/drivers/${name}.js` : `../drivers/${name}.ts`, import.meta.url));
    const sources = built ? [] : ['--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];
    return { command: process.execPath, args: ['--expose-gc', ...sources, file] };
  };

const command =
  (store: 'consul' | 'etcd', name: string) =>
  async (options: ProgramOptions): Promise<Program> => {
    const folder = await programsOf(store);
    return { ...(await script('command')(options)), env: { BENCH_PROGRAM: join(folder, name) } };
  };

const asServer = (_stage: Stage, _namespace: string, url: string): string => url;
const asHost = (_stage: Stage, _namespace: string, url: string): string => new URL(url).host;
const asStore = (stage: Stage, namespace: string, url: string): string => stage.storeUrl(namespace, url);

/** The path of a kubeconfig for the server's address. */
const asKubeconfig = (stage: Stage, namespace: string, url: string): string =>
  new URL(stage.storeUrl(namespace, url)).searchParams.get('kubeconfig') ?? '';

/** The superuser of the tests' servers, who has no password. */
const asDatabase = (_stage: Stage, _namespace: string, url: string): string => `postgres://test@${new URL(url).host}/postgres`;

const SETTLE_MS = 40;
/** A leader that has led for longer than a second knows its successor. */
const OURS_SETTLE_MS = 1_500;

const ours = (store: StoreName, mode: 'resign' | 'handover'): Contestant => ({
  name: `incumbent, ${mode}`,
  store,
  kind: 'ours',
  settleMs: OURS_SETTLE_MS,
  many: true,
  observes: true,
  program: script('incumbent'),
  address: asStore,
  mode,
  oneProcess: store === 'memory',
});

/**
 * One notification and one swap without any decision in between: the lower bound for elections by
 * the same client.
 */
export const OWN_FLOOR = "floor: Incumbent's store client";

/** The same with a read in between, where a notification does not say how the last term ended. */
export const OWN_FLOOR_WITH_READ = `${OWN_FLOOR}, with a read`;

const floor = (store: StoreName): Contestant => ({
  ...ours(store, 'resign'),
  name: OWN_FLOOR,
  kind: 'floor',
  mode: 'raw',
  settleMs: SETTLE_MS,
  observes: false,
  program: script('raw-store'),
});

/**
 * The lower bound for an election while nothing happens: the same client creates one key by one
 * swap, and watches it. It has no place among the contestants, because it cannot hand over.
 */
export const floorWithWatch = (store: StoreName): Contestant => ({ ...floor(store), name: `${OWN_FLOOR}, with a watch`, mode: 'watch' });

type Peer = Pick<Contestant, 'name' | 'store' | 'program' | 'address'> & Partial<Contestant>;

const peer = (about: Peer): Contestant => ({ kind: 'peer', settleMs: SETTLE_MS, many: true, observes: false, mode: '', ...about });

export const contestants: readonly Contestant[] = [
  ours('etcd', 'handover'),
  ours('etcd', 'resign'),
  peer({ name: 'Go concurrency', store: 'etcd', program: goProgram, address: asServer, observes: true }),
  peer({ name: 'npm etcd3 Election', store: 'etcd', program: script('etcd3'), address: asServer, observes: true, keyPrefix: 'election/' }),
  peer({
    name: 'etcdctl elect',
    store: 'etcd',
    program: command('etcd', 'etcdctl'),
    address: asServer,
    mode: 'etcdctl',
    settleMs: 200,
    many: false,
  }),
  peer({ name: 'floor: Go clientv3', store: 'etcd', kind: 'floor', program: goProgram, address: asServer, mode: 'raw' }),
  floor('etcd'),
  peer({ name: 'floor: npm etcd3', store: 'etcd', kind: 'floor', program: script('etcd3'), address: asServer, mode: 'raw' }),

  ours('zookeeper', 'handover'),
  ours('zookeeper', 'resign'),
  peer({ name: 'kazoo Election', store: 'zookeeper', program: kazooProgram, address: asHost, observes: true }),
  peer({ name: 'Curator LeaderLatch', store: 'zookeeper', program: curatorProgram, address: asHost }),
  floor('zookeeper'),
  { ...floor('zookeeper'), name: OWN_FLOOR_WITH_READ, mode: 'read' },

  ours('consul', 'handover'),
  ours('consul', 'resign'),
  peer({ name: 'HTTP recipe', store: 'consul', program: script('consul-recipe'), address: asServer }),
  peer({
    name: 'consul lock',
    store: 'consul',
    program: command('consul', 'consul'),
    address: asServer,
    mode: 'consul',
    settleMs: 400,
    many: false,
  }),
  peer({ name: 'floor: HTTP', store: 'consul', kind: 'floor', program: script('consul-recipe'), address: asServer, mode: 'raw' }),
  floor('consul'),

  ours('postgres', 'handover'),
  ours('postgres', 'resign'),
  peer({ name: 'advisory lock, waiting', store: 'postgres', program: script('advisory-lock'), address: asDatabase, mode: 'wait' }),
  peer({
    name: 'advisory lock, tried every second',
    store: 'postgres',
    program: script('advisory-lock'),
    address: asDatabase,
    mode: 'try',
  }),
  peer({ name: 'lease row', store: 'postgres', program: script('lease-row'), address: asDatabase }),
  peer({ name: 'graphile-worker queue', store: 'postgres', program: script('graphile-worker'), address: asDatabase, many: false }),
  floor('postgres'),

  ours('redis', 'handover'),
  ours('redis', 'resign'),
  peer({
    name: 'redis-semaphore Mutex',
    store: 'redis',
    program: script('redis-semaphore'),
    address: asServer,
    commands: ['set'],
    keyPrefix: 'mutex:',
  }),
  peer({ name: 'redlock using()', store: 'redis', program: script('redlock'), address: asServer, settleMs: 250 }),
  floor('redis'),

  ours('kubernetes', 'handover'),
  ours('kubernetes', 'resign'),
  peer({ name: 'client-go', store: 'kubernetes', program: clientGoProgram, address: asKubeconfig }),
  floor('kubernetes'),

  ours('sqlite', 'handover'),
  ours('sqlite', 'resign'),
  floor('sqlite'),

  ours('memory', 'handover'),
  ours('memory', 'resign'),
  floor('memory'),
];
