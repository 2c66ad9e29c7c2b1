/** Runs the conformance cases on a real PostgreSQL, directly and through a proxy. */

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';
import { startPgBouncer, startPostgres, type Postgres } from '@incumbent/test-support';
import { type CaseResources, harnessOf, openSocket, proxyFaults } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Pool } from 'pg';

import { openPostgres } from '../src/index.ts';

/** Defines cases on a server of this version (default: 15), and skips them if there is none. */
export async function describeOnPostgres(
  title: string,
  body: (harness: UseHarness) => void,
  { version = 'default' }: { readonly version?: 'default' | 'newer' } = {},
): Promise<void> {
  const required = { store: 'postgres', version, start: () => startPostgres({ version }) } as const;
  await describeOnServer(title, required, (server) => body(postgresHarness(server)));
}

/** The same through PgBouncer, which gives every transaction another connection to the server. */
export async function describeThroughPgBouncer(title: string, body: (harness: UseHarness) => void): Promise<void> {
  const start = async () => {
    const server = await startPostgres();
    try {
      const pooler = await startPgBouncer(server);
      return { server, pooler, stop: () => Promise.all([pooler.stop(), server.stop()]) };
    } catch (error) {
      await server.stop();
      throw error;
    }
  };
  await describeOnServer(title, { store: 'postgres', start }, (both) =>
    body(harnessOf((resources) => new PostgresCase(both().pooler.url, both().server.url, resources).harness())),
  );
}

/** The same with a pool of the application for each store. */
export async function describeWithPool(title: string, body: (harness: UseHarness) => void): Promise<void> {
  await describeOnServer(title, { store: 'postgres', start: () => startPostgres() }, (server) =>
    body(harnessOf((resources) => new PooledCase(server().url, server().url, resources).harness())),
  );
}

export function postgresHarness(server: () => Pick<Postgres, 'url'>): UseHarness {
  return harnessOf((resources) => new PostgresCase(server().url, server().url, resources).harness());
}

class PostgresCase {
  readonly #url: string;
  readonly #serverUrl: string;
  protected readonly resources: CaseResources;
  /** A pool, because a case may make several changes at once. */
  #operator: Pool | undefined;

  /** The stores connect to `url`, and the operator to the server itself. */
  constructor(url: string, serverUrl: string, resources: CaseResources) {
    this.#url = url;
    this.#serverUrl = serverUrl;
    this.resources = resources;
  }

  harness(): StoreHarness {
    const space = '(SELECT id FROM incumbent.namespaces WHERE name = $1)';
    return {
      ...this.resources.common(),
      clock: systemClock,
      ttlMs: 1_000,
      sharedLeases: true,
      open: () => this.#open(this.#url),
      faulty: () => this.#faulty(),
      // As with psql.
      operator: {
        put: (key, value) =>
          this.#operate(
            `INSERT INTO incumbent.keys (namespace, key, value) VALUES (${space}, $2, $3)
              ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, lease = NULL`,
            key,
            Buffer.from(value),
          ),
        deleteKey: (key) => this.#operate(`DELETE FROM incumbent.keys WHERE namespace = ${space} AND key = $2`, key),
        expireLease: (lease) => this.#operate(`DELETE FROM incumbent.leases WHERE namespace = ${space} AND id = $2`, lease),
      },
    };
  }

  async #operate(statement: string, ...values: readonly unknown[]): Promise<void> {
    this.#operator ??= this.#connectOperator();
    await this.#operator.query(statement, [this.resources.namespace, ...values]);
  }

  #connectOperator(): Pool {
    const pool = new Pool({ connectionString: this.#serverUrl });
    this.resources.afterStores(() => pool.end());
    return pool;
  }

  async #open(url: string): Promise<Store> {
    return this.resources.addStore(await this.openStore(url));
  }

  protected async openStore(url: string): Promise<Store> {
    const { host, username, pathname } = new URL(url);
    return openPostgres({
      endpoints: [host],
      credentials: { username },
      database: pathname.slice(1),
      namespace: this.resources.namespace,
      connect: async () => this.resources.addSocket(await openSocket(url)),
    });
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await this.resources.startProxy(this.#url);
    const { username, pathname } = new URL(this.#url);
    return {
      store: await this.#open(`postgres://${username}@${new URL(proxy.url).host}${pathname}`),
      noticesWithinMs: 6_000,
      recoversWithinMs: 4_000,
      faults: {
        ...proxyFaults(proxy),
        // Notifications arrive on a connection of their own. Calls move on to other connections.
        silenceWatches: async () => proxy.blackhole({ scope: 'existing' }),
      },
    };
  }
}

class PooledCase extends PostgresCase {
  protected override async openStore(url: string): Promise<Store> {
    const pool = new Pool({ connectionString: url });
    // Ends only when the store has returned all of its connections.
    this.resources.afterStores(() => pool.end());
    return openPostgres({ pool, namespace: this.resources.namespace });
  }
}
