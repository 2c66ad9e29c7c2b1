/** Reads and checks the options of a store, and its URL. */

import type { Clock } from '@incumbent/core';
import { checkBoolean, checkKnown, invalidSecret, isUrl, urlText } from '@incumbent/core/adapter';
import {
  accessOf,
  checkTls,
  type Connect,
  type Endpoint,
  omitUndefined,
  parseEndpoints,
  readSharedOptions,
  type SharedSettings,
  StoreUrl,
  type StoreUrlShape,
  type TlsOptions,
} from '@incumbent/network';

import { checkPool, type PostgresPool } from './pool-option.ts';
import { checkSchema } from './schema/schema.ts';

/** The user of the database. */
export interface Credentials {
  /** Not empty. */
  readonly username: string;
  /** Default: no password, for a server that trusts this user or the client's certificate. */
  readonly password?: string | undefined;
}

/** Where the store keeps its keys, and what it may assume. */
export interface PostgresStoreOptions {
  /**
   * The schema with the tables of this package: a name of at most 40 characters of `a-z 0-9 _` that
   * does not begin with a digit or with `pg_`. Default `incumbent`.
   */
  readonly schema?: string | undefined;
  /**
   * The prefix of all keys: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default `incumbent`.
   */
  readonly namespace?: string | undefined;
  /**
   * Whether opening may create the schema, or bring an older one up to date. False: opening rejects
   * with `UNSUPPORTED` if the schema is missing or old. Default true.
   */
  readonly migrate?: boolean | undefined;
  /**
   * True: you guarantee that the server keeps every commit that it has acknowledged, through
   * crashes, and through failovers, because only a standby with all commits is promoted. Opening
   * then skips its own checks, and elections need no `acceptWeakStore`. Default false.
   */
  readonly trustDurability?: boolean | undefined;
  /** The longest time for opening, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** Connections that the store opens itself. */
export interface PostgresOptions extends PostgresStoreOptions {
  /**
   * A primary and its standbys, each as `host` or `host:port`. At least one. The port is 5432 if
   * left out. The store uses the server that accepts writes.
   */
  readonly endpoints: readonly string[];
  /** Who logs in. */
  readonly credentials: Credentials;
  /** The name of the database. Default: the user's name. */
  readonly database?: string | undefined;
  /**
   * Connects by TLS if present; `{}` trusts the system's certificate authorities. Default: no TLS.
   */
  readonly tls?: TlsOptions | undefined;
  /**
   * Opens the byte stream to a server, in place of TCP. The store calls it for every connection.
   * With `tls`, the store then speaks TLS on that stream.
   */
  readonly connect?: Connect | undefined;
}

/** Connections from a pool of the application, which says where they lead and who logs in. */
export interface PostgresPoolOptions extends PostgresStoreOptions {
  /** Close the store before the pool: `pool.end()` waits for the store's connections. */
  readonly pool: PostgresPool;
}

/** How the store gets connections. */
type Servers =
  | { readonly pool: PostgresPool }
  | {
      readonly endpoints: readonly Endpoint[];
      readonly credentials: Credentials;
      readonly database: string;
      readonly tls: TlsOptions | undefined;
    };

/** The options with their defaults. */
export interface PostgresSettings extends SharedSettings<Connect> {
  readonly servers: Servers;
  readonly schema: string;
  readonly migrate: boolean;
  readonly trustDurability: boolean;
}

const DEFAULT_PORT = 5432;

const KNOWN = ['schema', 'namespace', 'migrate', 'trustDurability', 'connectTimeoutMs', 'clock'];
const KNOWN_OF_SERVERS = [...KNOWN, 'endpoints', 'credentials', 'database', 'tls', 'connect'];
const KNOWN_OF_POOL = [...KNOWN, 'pool'];

/**
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, or the system's error if a
 * certificate file that a URL names cannot be read.
 */
export function readOptions(input: string | URL | PostgresOptions | PostgresPoolOptions): PostgresSettings {
  const options = isUrl(input) ? readUrl(urlText(input)) : input;
  return typeof options === 'object' && options !== null && 'pool' in options ? withPool(options) : withServers(options);
}

function withPool(options: PostgresPoolOptions): PostgresSettings {
  const { pool, ...plain } = options;
  const shared = readSharedOptions<Connect>(plain, { store: 'postgres', known: KNOWN_OF_POOL });
  // Another process cannot have the pool.
  return { ...shared, ...storeSettingsOf(plain), access: undefined, servers: { pool: checkPool(pool) } };
}

function withServers(options: PostgresOptions): PostgresSettings {
  const shared = readSharedOptions(withoutTls(options), { store: 'postgres', known: KNOWN_OF_SERVERS });
  const { tls } = options;
  if (tls !== undefined) checkTls(tls);
  const endpoints = parseEndpoints(options.endpoints, DEFAULT_PORT);
  const credentials = credentialsOf(options.credentials);
  const { database = credentials.username } = options;
  if (typeof database !== 'string' || database === '' || database.includes('\0'))
    throw invalidSecret('database', database, 'the name of a database');
  return { ...shared, ...storeSettingsOf(options), access: accessOf(options), servers: { endpoints, credentials, database, tls } };
}

/** The client asks for TLS on a TCP connection that is open already, also on one of `connect`. */
function withoutTls(options: PostgresOptions): PostgresOptions {
  if (typeof options !== 'object' || options === null) return options;
  const { tls: _, ...plain } = options;
  return plain;
}

function storeSettingsOf(options: PostgresStoreOptions): Pick<PostgresSettings, 'schema' | 'migrate' | 'trustDurability'> {
  return {
    schema: checkSchema(options.schema),
    migrate: checkBoolean('migrate', options.migrate, true),
    trustDurability: checkBoolean('trustDurability', options.trustDurability, false),
  };
}

function credentialsOf(credentials: Credentials): Credentials {
  checkKnown('credentials', credentials, ['username', 'password']);
  const { username, password } = credentials;
  if (typeof username !== 'string' || username === '') throw invalidSecret('credentials.username', username, 'a name');
  if (password !== undefined && typeof password !== 'string')
    throw invalidSecret('credentials.password', password, 'a string, or left out');
  return credentials;
}

/**
 * `postgres://user:password@host1:5432,host2:5432/database?namespace=my-app`. `postgresql://` means
 * the same. `sslmode=require` and `sslmode=verify-full` connect by TLS and check the certificate.
 */
const SHAPE: StoreUrlShape = {
  schemes: ['postgres', 'postgresql'],
  secureSchemes: [],
  secureBy: { parameter: 'sslmode', plain: ['disable'], secure: ['verify-full', 'require'] },
  parameters: ['schema', 'namespace', 'migrate', 'trustDurability', 'connectTimeoutMs'],
  example: 'postgres://user:password@host:port/database',
};

/** @throws The system's error if a file that `ca`, `cert` or `key` names cannot be read. */
export function readUrl(text: string): PostgresOptions {
  // The name that libpq has for it.
  if (/[?&]sslrootcert=/.test(text)) throw invalidSecret('sslrootcert', '', 'given as ca: ?ca=file', 'in the URL');
  const url = new StoreUrl(text, SHAPE);
  const { connectTimeoutMs, tls } = url.sharedOptions;
  return {
    endpoints: url.hosts,
    credentials: credentialsIn(url),
    ...omitUndefined({
      connectTimeoutMs,
      tls,
      database: url.namespace === '' ? undefined : url.namespace,
      schema: url.text('schema'),
      namespace: url.text('namespace'),
      migrate: url.boolean('migrate'),
      trustDurability: url.boolean('trustDurability'),
    }),
  };
}

function credentialsIn(url: StoreUrl): Credentials {
  const { name, password } = url.user ?? { name: '', password: undefined };
  if (name === '') throw url.invalidUser('given a user, as user:password@ or user@ in front of the host');
  return { username: name, ...omitUndefined({ password }) };
}
