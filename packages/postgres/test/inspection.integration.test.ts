/** What `inspect`, and so `incumbent doctor`, says about real servers. */

import { Member, type Store, type StoreReport } from '@incumbent/core';
import { startPgBouncer, startPostgres, startPostgresCluster, uniqueNamespace, until, type PostgresServer } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { expect, it } from 'vitest';

import { grantSql, openPostgres, schemaSql, sqlGuard } from '../src/index.ts';

const CALL = { timeoutMs: 10_000 };
const WAIT = { withinMs: 30_000 };

async function inspect(store: Store): Promise<StoreReport> {
  const report = await store.inspect?.(CALL);
  if (report === undefined) throw new Error('the store has no inspect');
  return report;
}

type Facts = { readonly [What in 'replication' | 'durability' | 'pooler' | 'connections' | 'tables' | 'open transactions']?: string };

async function factsOf(store: Store): Promise<Facts> {
  const { facts = [] } = await inspect(store);
  return Object.fromEntries(facts.map(({ what, detail }) => [what, detail]));
}

async function warningsOf(store: Store): Promise<string> {
  return (await inspect(store)).warnings.join('\n');
}

async function connectTo(url: string): Promise<AsyncDisposable & { readonly client: Client }> {
  const client = new Client(url);
  client.on('error', () => {});
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

const open = ({ url }: Pick<PostgresServer, 'url'>, parameters = ''): Promise<Store> =>
  openPostgres(`${url}?namespace=${uniqueNamespace()}&connectTimeoutMs=30000${parameters}`);

await describeOnServer('the report of a server', { store: 'postgres', start: () => startPostgres() }, (server) => {
  it('has the version, the clock and the facts, and no warning', async () => {
    await using store = await open(server());
    const { version, clock, warnings } = await inspect(store);
    expect(version).toMatch(/^\d+\.\d+$/);
    expect(Math.abs(clock?.aheadMs ?? NaN)).toBeLessThan(1_000);
    expect(warnings).toEqual([]);
    expect(await factsOf(store)).toMatchObject({
      replication: 'no standby',
      durability: expect.stringContaining('fsync is on; synchronous_commit is on'),
      pooler: 'none',
      connections: expect.stringMatching(/^\d+ of 300 are in use$/),
      tables: expect.stringMatching(/^keys .+; leases .+; namespaces .+ MiB$/),
      'open transactions': expect.stringMatching(/^\d+$/),
    });
  });

  it('warns of a guarded transaction that delays the next leader, and of one that was forgotten', async () => {
    await using store = await open(server());
    await using member = new Member(store, { memberId: 'a', ttlMs: 60_000 });
    const leadership = await member.election('prices').campaign();
    await using guarded = await connectTo(`${server().url}?application_name=writer`);
    await guarded.client.query('BEGIN');
    await guarded.client.query(sqlGuard(store, leadership));
    await using forgotten = await connectTo(`${server().url}?application_name=report`);
    await forgotten.client.query('BEGIN');
    await forgotten.client.query('SELECT 1');
    await until(
      async () => /\(writer\) is open for \d+ s, idle for \d+ s, and holds locks in the schema incumbent/.test(await warningsOf(store)),
      {
        what: 'a warning of the lock',
        ...WAIT,
      },
    );
    await until(async () => /\(report\) is open for \d+ s, idle for \d+ s: somebody/.test(await warningsOf(store)), {
      what: 'a warning of the idle transaction',
      ...WAIT,
    });
    await forgotten.client.query('COMMIT');
    await guarded.client.query('COMMIT');
    expect(await warningsOf(store)).toBe('');
    await leadership.resign();
  });

  it('warns of a bloated table', async () => {
    await using admin = await connectTo(server().url);
    const { client } = admin;
    await client.query(schemaSql('bloated'));
    await client.query('ALTER TABLE bloated.leases SET (autovacuum_enabled = false)');
    await client.query('INSERT INTO bloated.leases SELECT 1, n::text, 1000, now() FROM generate_series(1, 25000) n');
    await client.query('DELETE FROM bloated.leases');
    await using store = await open(server(), '&schema=bloated');
    await until(async () => /the table leases has 25000 dead rows for 0 live ones/.test(await warningsOf(store)), {
      what: 'a warning of the table',
      ...WAIT,
    });
    await client.query('VACUUM bloated.leases');
    await until(async () => (await warningsOf(store)) === '', { what: 'no warning', ...WAIT });
  });

  it('warns of settings of the role, which sees only its own sessions', async () => {
    await using admin = await connectTo(server().url);
    await admin.client.query(schemaSql());
    await admin.client.query('CREATE ROLE hasty LOGIN');
    await admin.client.query(grantSql(undefined, 'hasty'));
    await admin.client.query('ALTER ROLE hasty SET synchronous_commit = off');
    await admin.client.query("ALTER ROLE hasty SET default_transaction_isolation = 'repeatable read'");
    await using store = await open({ url: server().url.replace('//test@', '//hasty@') });
    expect(await warningsOf(store)).toMatch(/^synchronous_commit is off: .+\ndefault_transaction_isolation is repeatable read: /);
    expect((await factsOf(store))['open transactions']).toContain('GRANT pg_read_all_stats TO "hasty"');
    await admin.client.query('GRANT pg_read_all_stats TO hasty');
    expect((await factsOf(store))['open transactions']).toMatch(/^\d+$/);
  });

  it('names a pooler', async () => {
    await using pooler = await startPgBouncer(server());
    await using store = await open(pooler);
    expect((await factsOf(store)).pooler).toContain('watches ask every 250 ms');
  });
});

for (const standby of ['synchronous', 'asynchronous'] as const) {
  await describeOnServer(`with a standby: ${standby}`, { store: 'postgres', start: () => startPostgresCluster({ standby }) }, (cluster) => {
    it('the report says how it replicates', async () => {
      const [primary] = cluster().servers;
      if (primary === undefined) throw new Error('the cluster has no server');
      await using store = await open(primary);
      const mode = standby === 'synchronous' ? 'synchronous_standby_names is *' : 'asynchronous';
      expect((await factsOf(store)).replication).toBe(`standbys that are connected: 1; ${mode}`);
      expect(await warningsOf(store)).toMatch(
        standby === 'synchronous' ? /^$/ : /^its standby is not synchronous \(synchronous_standby_names is empty\)/,
      );
    });
  });
}
