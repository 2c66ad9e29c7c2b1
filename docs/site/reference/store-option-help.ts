/** The options of the stores on files and servers, as in option-help.ts. */

import type { ConsulOptions } from '@incumbent/consul';
import type { EtcdOptions, KeepaliveOptions } from '@incumbent/etcd';
import type { TlsOptions } from '@incumbent/network';
import type { PostgresOptions, PostgresPoolOptions } from '@incumbent/postgres';
import type { RedisClientOptions, RedisOptions, SentinelOptions } from '@incumbent/redis';
import type { SqliteOptions } from '@incumbent/sqlite';
import type { ZookeeperOptions } from '@incumbent/zookeeper';
import type { OptionTable } from './option-help.ts';
import {
  clock,
  connect,
  connectTimeoutMs,
  credentials,
  endpoints,
  namespace,
  tls,
} from './store-option-parts.ts';

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

export const postgresOptions: OptionTable<PostgresOptions & Pick<PostgresPoolOptions, 'pool'>> = {
  endpoints: {
    ...endpoints(5432),
    meaning:
      'A primary and its standbys, each as `host` or `host:port`. The default port is 5432. ' +
      'Left out with `pool`.',
  },
  credentials: {
    ...credentials,
    type: '{ username, password? }',
    fallback: 'required without `pool`',
  },
  database: {
    type: 'string',
    fallback: "the user's name",
    meaning: 'The name of the database: the path of the URL.',
  },
  schema: {
    type: 'string',
    fallback: '`incumbent`',
    range: 'at most 40 characters of `a-z 0-9 _`; it does not begin with a digit or with `pg_`',
    meaning: 'The schema that holds the tables and functions of the store.',
    parameter: 'schema',
  },
  namespace: {
    ...namespace,
    meaning: 'The prefix of all keys of this store.',
    parameter: 'namespace',
  },
  migrate: {
    type: 'boolean',
    fallback: '`true`',
    meaning: 'With `false`, opening does not create or change the schema.',
    parameter: 'migrate',
  },
  trustDurability: {
    type: 'boolean',
    fallback: '`false`',
    meaning:
      'With `true`, you guarantee that the server keeps every acknowledged commit, also through ' +
      'a failover. Elections then need no `acceptWeakStore`.',
    parameter: 'trustDurability',
  },
  tls: {
    ...tls,
    meaning:
      'Connects with TLS, by the options [below](#tls). In a URL, `sslmode=verify-full` or ' +
      '`sslmode=require`, which both check the certificate.',
    parameter: 'sslmode',
  },
  connectTimeoutMs,
  connect: {
    ...connect,
    fallback: 'TCP',
    meaning: 'Opens the byte stream to a server, for a tunnel. With `tls`, the store adds TLS.',
  },
  pool: {
    type: 'PostgresPool',
    fallback: 'none',
    meaning:
      'A `Pool` of `pg`, with a `max` of 3 or more, in place of `endpoints`, `credentials`, ' +
      '`database`, `tls` and `connect`.',
  },
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

export const redisOptions: OptionTable<RedisOptions & Pick<RedisClientOptions, 'client'>> = {
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
    meaning: 'Opens the byte stream to a server or to a Sentinel, for a tunnel. Not beside `tls`.',
  },
  client: {
    type: 'RedisClient',
    fallback: 'none',
    meaning:
      'A client of `ioredis` or `redis`, whose settings the store takes over, in place of ' +
      '`endpoints` and `sentinel`.',
  },
  clock,
};
