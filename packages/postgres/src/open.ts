/**
 * Opens the store: connects, creates the schema if needed, and checks what the server guarantees.
 */

import type { Store } from '@incumbent/core';
import { CallTime, dialTimeoutMs } from '@incumbent/network';

import { AppPool } from './client/app-pool.ts';
import { Client } from './client/client.ts';
import type { ConnectionSource } from './client/connection.ts';
import { Dialer } from './client/dialer.ts';
import { ExchangeError, isAnswer } from './client/failure.ts';
import { onlyRow, textAt } from './client/rows.ts';
import { DURABILITY, weaknessesIn } from './client/durability.ts';
import { StoreCalls } from './client/store-calls.ts';
import { howToCreate, mayNotMigrate, unsuitableSchema } from './errors.ts';
import { type PostgresOptions, type PostgresPoolOptions, type PostgresSettings, readOptions } from './options.ts';
import { migrationSql, quoted, SCHEMA_VERSION } from './schema/schema.ts';
import { PostgresStore } from './store.ts';

/** There is no such schema or function. */
const MISSING = ['3F000', '42883'];

/** The role may not create a schema, or owns neither it nor its tables. */
const DENIED = '42501';

/**
 * Opens a PostgreSQL store by a URL, `postgres://user:password@host:5432/database?namespace=my-app`
 * (`sslmode=verify-full` for TLS), or by options, or with the application's own pool:
 * `openPostgres({ pool })`. Resolves when a server that accepts writes has answered and has the
 * schema.
 *
 * @throws {StoreError} within `connectTimeoutMs`:
 * - `UNREACHABLE` or `TIMEOUT`: no server has answered.
 * - `UNAVAILABLE`: only standbys answered, or the server is starting or has too many connections,
 *   or the pool has given no connection.
 * - `UNAUTHENTICATED`: the user, the password or a certificate is wrong.
 * - `PERMISSION_DENIED`: the role may not connect to the database, or may not use or create the
 *   schema.
 * - `UNSUPPORTED`: the server is older than 13, there is no such database, or `migrate` is false
 *   and the schema is missing or old.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` for options that cannot be used. The system's
 * error if a file that the URL names cannot be read.
 */
export async function openPostgres(urlOrOptions: string | URL | PostgresOptions | PostgresPoolOptions): Promise<Store> {
  const settings = readOptions(urlOrOptions);
  const { clock, connectTimeoutMs: timeoutMs, access, trustDurability } = settings;
  const calls = createCalls(settings);
  const time = new CallTime(clock, { timeoutMs }, ExchangeError);
  try {
    return await calls.call(
      'open',
      async () => {
        await prepareSchema(calls, settings, time);
        const weaknesses = trustDurability ? [] : weaknessesIn(onlyRow(await calls.client.call(() => DURABILITY, time.left)));
        const channel = textAt(onlyRow(await calls.rows('open_namespace', [], time.left)), 0);
        return new PostgresStore({ calls, clock, channel, weaknesses, access });
      },
      { timeoutMs },
    );
  } catch (error) {
    await calls.client.close();
    throw error;
  }
}

/** Makes what calls need. Does not connect yet. */
export function createCalls(settings: PostgresSettings): StoreCalls {
  const { clock, schema, namespace } = settings;
  const source = sourceOf(settings);
  return new StoreCalls(new Client(source, clock), { schema, namespace, source });
}

function sourceOf({ clock, connect, connectTimeoutMs, servers }: PostgresSettings): ConnectionSource {
  if ('pool' in servers) return new AppPool({ clock, pool: servers.pool, timeoutMs: dialTimeoutMs(connectTimeoutMs, 1) });
  const { endpoints, tls, database, credentials } = servers;
  const { username, password } = credentials;
  return new Dialer({
    clock,
    endpoints,
    connect,
    tls,
    login: { database, username, password },
    dialTimeoutMs: dialTimeoutMs(connectTimeoutMs, endpoints.length),
  });
}

async function prepareSchema(calls: StoreCalls, settings: PostgresSettings, time: CallTime): Promise<void> {
  const { schema } = settings;
  const found = await versionOf(calls, schema, time);
  if (found === SCHEMA_VERSION) return;
  if (found > SCHEMA_VERSION)
    throw unsuitableSchema(schema, `is of version ${found}, and this package knows version ${SCHEMA_VERSION}: update the package`);
  if (!settings.migrate) {
    const what = found === 0 ? 'is missing' : `is of version ${found}, and this package needs version ${SCHEMA_VERSION}`;
    throw unsuitableSchema(schema, `${what}: ${howToCreate(schema)}`);
  }
  try {
    // One statement, which is one transaction. Of many processes that start together, one creates
    // the schema and the others wait for it.
    await calls.client.call((lockTimeoutMs) => migrationSql(schema, lockTimeoutMs), time.left);
  } catch (error) {
    throw isAnswer(error, DENIED) ? mayNotMigrate(schema, error) : error;
  }
}

/** 0: there is no schema. */
async function versionOf({ client }: StoreCalls, schema: string, time: CallTime): Promise<number> {
  try {
    return Number(textAt(onlyRow(await client.call(() => `SELECT ${quoted(schema)}.version()`, time.left)), 0));
  } catch (error) {
    if (isAnswer(error, ...MISSING)) return 0;
    throw error;
  }
}
