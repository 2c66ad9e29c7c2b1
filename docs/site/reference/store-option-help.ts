/** The options of the stores, as in option-help.ts. */

import type { ConsulOptions } from '@incumbent/consul';
import type { EtcdOptions, KeepaliveOptions } from '@incumbent/etcd';
import type { ConnectOptions, MemoryOptions, MemoryServerOptions } from '@incumbent/memory';
import type { TlsOptions } from '@incumbent/network';
import type { RedisOptions, SentinelOptions } from '@incumbent/redis';
import type { SqliteOptions } from '@incumbent/sqlite';
import type { ZookeeperOptions } from '@incumbent/zookeeper';
import type { OptionHelp, OptionTable } from './option-help.ts';

const NAMESPACE = 'names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`';

const clock: OptionHelp = { type: 'Clock', fallback: '`systemClock`', meaning: 'For tests.' };

const tls: OptionHelp = {
  type: 'TlsOptions',
  fallback: 'no TLS',
  meaning: 'Connects with TLS, by the options [below](#tls). In a URL, the scheme says so.',
};

const namespace: OptionHelp = {
  type: 'string',
  fallback: '`incumbent`',
  range: NAMESPACE,
  meaning: 'The prefix of all keys of this store: the path of the URL.',
};

const connectTimeoutMs: OptionHelp = {
  type: 'number',
  fallback: 5_000,
  range: [100, 600_000],
  meaning: 'How long opening may take, in ms.',
  parameter: 'connectTimeoutMs',
};

const connect: OptionHelp = {
  type: '(endpoint, signal) => Duplex',
  fallback: 'TCP or TLS',
  meaning: 'Opens the byte stream to a server, for a tunnel.',
};

function endpoints(port: number): OptionHelp {
  return {
    type: 'string[]',
    meaning: `All servers, each as \`host\` or \`host:port\`. The default port is ${port}.`,
  };
}

const credentials: OptionHelp = {
  type: '{ username, password }',
  fallback: 'none',
  meaning: 'The user: `user:password@` in the URL, percent-encoded.',
};

export const tlsOptions: OptionTable<TlsOptions> = {
  ca: {
    type: 'string | Uint8Array | { file }, or several',
    fallback: 'those that Node trusts',
    meaning: 'The certificate authorities to trust, in PEM. In a URL, the name of a file.',
    parameter: 'ca',
  },
  cert: {
    type: 'string | Uint8Array | { file }',
    fallback: 'none',
    meaning: 'The certificate of this client, if the servers require one. In a URL, a file.',
    parameter: 'cert',
  },
  key: {
    type: 'string | Uint8Array | { file }',
    fallback: 'none',
    meaning: 'The private key of that certificate. In a URL, a file.',
    parameter: 'key',
  },
  servername: {
    type: 'string',
    fallback: 'the host of the endpoint',
    meaning: "The name that the server's certificate must have.",
    parameter: 'servername',
  },
  rejectUnauthorized: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, every server is trusted.',
  },
};

export const sqliteOptions: OptionTable<SqliteOptions> = {
  file: {
    type: 'string',
    meaning: 'The path of the file, which is created if it is absent. Its folder must be writable.',
  },
  namespace: { ...namespace, meaning: 'The prefix of all keys.', parameter: 'namespace' },
  connectTimeoutMs: {
    ...connectTimeoutMs,
    meaning: 'How long opening may wait for other processes that lock the file, in ms.',
  },
  moved: {
    type: 'boolean',
    fallback: '`false`',
    meaning:
      'With `true`, the file was moved here from another machine, on which nobody uses it any ' +
      'more.',
    parameter: 'moved',
  },
  endsWithProcess: {
    type: 'boolean',
    fallback: '`true`',
    meaning:
      'Whether leases end as soon as this process has died. Use `false` for work that may ' +
      'outlive ' +
      'the process, such as a program that it started.',
    parameter: 'endsWithProcess',
  },
};

export const etcdOptions: OptionTable<EtcdOptions> = {
  endpoints: endpoints(2379),
  namespace,
  credentials,
  tls,
  connectTimeoutMs,
  keepalive: {
    type: '{ intervalMs, timeoutMs }',
    meaning: 'How soon the store notices a dead connection: the next two rows.',
  },
  connect,
};

export const keepaliveOptions: OptionTable<KeepaliveOptions> = {
  intervalMs: {
    type: 'number',
    fallback: 10_000,
    range: [6_000, 3_600_000],
    meaning: 'The time between two pings, in ms. etcd treats more frequent pings as an attack.',
    parameter: 'keepaliveIntervalMs',
  },
  timeoutMs: {
    type: 'number',
    fallback: 3_000,
    range: [100, 600_000],
    meaning: 'How long the answer to a ping may take, in ms.',
    parameter: 'keepaliveTimeoutMs',
  },
};

export const zookeeperOptions: OptionTable<ZookeeperOptions> = {
  endpoints: endpoints(2181),
  namespace: { ...namespace, meaning: 'The node that holds all keys: the path of the URL.' },
  credentials: { ...credentials, meaning: 'For the scheme `digest`: `user:password@` in the URL.' },
  acl: {
    type: "'open' | 'creator'",
    fallback: '`creator` with credentials, else `open`',
    meaning: 'Who may use the nodes that this store creates: anybody, or only these credentials.',
    parameter: 'acl',
  },
  tls,
  connectTimeoutMs,
  connect,
  clock,
};

export const consulOptions: OptionTable<ConsulOptions> = {
  endpoint: {
    type: 'string',
    meaning: 'The agent, as `host` or `host:port`. The default port is 8500, or 8501 with TLS.',
  },
  namespace,
  token: { type: 'string', fallback: 'none', meaning: 'An ACL token: `:token@` in the URL.' },
  tls,
  connectTimeoutMs,
  datacenter: {
    type: 'string',
    fallback: "the agent's own",
    meaning: 'The datacenter that must serve.',
    parameter: 'dc',
  },
  consulNamespace: {
    type: 'string',
    fallback: 'none',
    meaning: 'A namespace of Consul Enterprise.',
    parameter: 'ns',
  },
  session: {
    type: "'auto' | 'check' | 'ttl'",
    fallback: '`auto`',
    meaning:
      'What ends a session that nobody renews: a check of the agent, or the servers after ' +
      'twice the ' +
      'ttl. `auto` chooses the check where it is possible.',
    parameter: 'session',
  },
  lockDelayMs: {
    type: 'number',
    fallback: 0,
    range: [0, 60_000],
    meaning: 'How long nobody can lock the keys of a session that the servers have ended, in ms.',
    parameter: 'lockDelayMs',
  },
  minSessionTtlMs: {
    type: 'number',
    fallback: 10_000,
    range: [1_000, 86_400_000],
    meaning: "The servers' setting `session_ttl_min`, in ms, if it was changed.",
    parameter: 'minSessionTtlMs',
  },
  watchWaitMs: {
    type: 'number',
    fallback: 10_000,
    range: [1_000, 600_000],
    meaning: 'How long the servers may hold the answer to a watch, in ms.',
    parameter: 'watchWaitMs',
  },
  maxBlockingQueries: {
    type: 'number',
    fallback: 64,
    range: [4, 64],
    meaning: 'The most blocking queries at a time. Each of them is a connection.',
    parameter: 'maxBlockingQueries',
  },
  connect,
  clock,
};

export const sentinelOptions: OptionTable<SentinelOptions> = {
  endpoints: {
    ...endpoints(26_379),
    meaning: 'The Sentinels: the hosts of the URL. The default port is 26379.',
  },
  master: {
    type: 'string',
    range: 'names of `A-Z a-z 0-9 . _ -`',
    meaning: 'The name under which the Sentinels watch the primary, such as `mymaster`.',
    parameter: 'master',
  },
  credentials: {
    type: '{ username?, password }',
    fallback: 'none',
    meaning:
      'The user of the Sentinels, or only a password. The user of the URL is for the servers.',
    parameter: 'sentinelUsername, sentinelPassword',
  },
  tls: {
    type: 'TlsOptions',
    fallback: 'no TLS',
    meaning:
      'Connects to the Sentinels with TLS. With `rediss+sentinel://`, it has the certificates of ' +
      'the servers, and `sentinelTls=false` leaves TLS out.',
    parameter: 'sentinelTls',
  },
};

export const redisOptions: OptionTable<RedisOptions> = {
  endpoints: {
    ...endpoints(6379),
    meaning:
      'A server and its replicas, or servers of a cluster, of which one is enough. Each is ' +
      '`host` or `host:port`. The default port is 6379. Left out with `sentinel`.',
  },
  sentinel: {
    type: 'SentinelOptions',
    fallback: 'none',
    meaning: 'Sentinels, which name the current primary, by the options `sentinel.…`.',
  },
  namespace,
  db: {
    type: 'number',
    fallback: 0,
    range: [0, 65_535],
    meaning: 'The number of the database, an integer.',
    parameter: 'db',
  },
  credentials: {
    ...credentials,
    type: '{ username?, password }',
    meaning: 'A user, or only a password: `user:password@` or `:password@` in the URL.',
  },
  tls,
  connectTimeoutMs,
  connect: {
    ...connect,
    meaning: 'Opens the byte stream to a server or to a Sentinel, for a tunnel.',
  },
  clock,
};

const latencyMs: OptionHelp = {
  type: 'number | ((message: Message) => number)',
  fallback: 0,
  range: [0, Infinity],
  meaning: 'The time that a message takes in each direction, in ms. `Infinity` loses it.',
};

export const memoryOptions: OptionTable<MemoryOptions & ConnectOptions> = {
  name: {
    type: 'string',
    fallback: 'a server of its own',
    range: '1 to 128 characters of `A-Z a-z 0-9 . _ -`',
    meaning: 'The stores of one name in this process share one server: `memory:name`.',
  },
  namespace: {
    ...namespace,
    fallback: 'none',
    meaning: 'The prefix of all keys: `memory:name/namespace`.',
  },
  latencyMs,
  clock: { ...clock, meaning: 'The clock of this client, for tests.' },
  server: {
    type: 'MemoryServerOptions',
    meaning: 'The server, if this store is the first one of its name: the options below.',
  },
};

export const memoryServerOptions: OptionTable<MemoryServerOptions> = {
  clock: { ...clock, meaning: 'The clock by which leases expire, for tests.' },
  minTtlMs: {
    type: 'number',
    fallback: 1,
    range: [1, 86_400_000],
    meaning: 'The shortest ttl that the server grants, in ms.',
  },
  maxTtlMs: {
    type: 'number',
    fallback: 86_400_000,
    range: [1, 86_400_000],
    meaning: 'The longest ttl that the server grants, in ms.',
  },
  maxChanges: {
    type: 'number',
    fallback: 128,
    range: [1, 10_000],
    meaning: 'The most changes of one swap.',
  },
  maxValueBytes: {
    type: 'number',
    fallback: 2 ** 20,
    range: [1, 2 ** 30],
    meaning: 'The most bytes of one value.',
  },
  maxKeysPerLease: {
    type: 'number',
    fallback: 100_000,
    range: [1, 1_000_000],
    meaning: 'The most keys of one lease. The server only declares it.',
  },
  assignableLease: {
    type: 'boolean',
    fallback: '`true`',
    meaning: "With `false`, the server refuses to bind a key to another client's lease.",
  },
  revisionsSurviveDeletion: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, revisions start again when a key is created again.',
  },
  swapSharesRevision: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, every key of a swap gets a revision of its own.',
  },
  linearizable: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, an election needs `acceptWeakStore`. The server only declares it.',
  },
  termSource: {
    type: "'counter' | 'clock'",
    fallback: "`'counter'`",
    meaning: 'Where terms come from. The server only declares it.',
  },
  endsEarly: {
    type: 'string',
    fallback: 'none',
    meaning: 'Why the server may end leases early. The server only declares it.',
  },
};
