/** What a leader and its leases survive: promotion, crashes, and connections that end. */

import diagnosticsChannel from 'node:diagnostics_channel';

import { type Clock, Member, type Store, systemClock } from '@incumbent/core';
import { requireStore, startPostgres, startPostgresCluster, until, uniqueNamespace, type PostgresCluster } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';

import { openPostgres, type PostgresOptions, schemaSql } from '../src/index.ts';

const WAIT = { withinMs: 30_000 };
const CALL = { timeoutMs: 10_000 };
const NOW = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };

function open(cluster: PostgresCluster, namespace: string, options: Partial<PostgresOptions> = {}): Promise<Store> {
  const endpoints = cluster.servers.map(({ url }) => new URL(url).host);
  const given = { endpoints, credentials: { username: 'test' }, database: 'postgres', connectTimeoutMs: 30_000 };
  return openPostgres({ ...given, namespace, ...options });
}

/** Makes the call until it succeeds. */
async function eventually<T>(what: string, call: () => Promise<T>): Promise<T> {
  const { answer } = await until(async () => ({ answer: await call() }), { what, ...WAIT });
  return answer;
}

describe.runIf(await requireStore({ store: 'postgres', own: true }))('a primary with a standby', () => {
  it('is weak if the standby is asynchronous', async () => {
    await using cluster = await startPostgresCluster({ standby: 'asynchronous' });
    await using store = await open(cluster, uniqueNamespace());
    expect(store.capabilities).toMatchObject({ linearizable: false, termSource: 'clock' });
    const { warnings } = (await store.inspect?.(CALL)) ?? { warnings: [] };
    expect(warnings).toEqual([expect.stringContaining('synchronous_standby_names is empty')]);
  });

  it('keeps terms and leases over the promotion of a synchronous standby, and gives each lease its whole ttl again', async () => {
    await using cluster = await startPostgresCluster({ standby: 'synchronous' });
    const namespace = uniqueNamespace();
    await using store = await open(cluster, namespace);
    expect(store.capabilities).toMatchObject({ linearizable: true, termSource: 'counter' });
    const raise = async (id: string): Promise<bigint> => {
      await using member = new Member(store, { memberId: id, ttlMs: 10_000 });
      return (await member.election('controller').campaign()).term;
    };
    expect(await raise('a')).toBe(1n);
    const lease = await store.grantLease(10_000, NOW);
    await store.enqueue('queue', 'a', new Uint8Array([1]), lease.id, CALL);
    const [primary, standby] = cluster.servers;
    await primary?.kill();
    await cluster.promote();
    // As if the former primary's clock had been an hour behind. Nobody has called the new one yet.
    await standby?.ctl(['-c', "update incumbent.leases set ends_at = now() - interval '1 hour'"]);
    await eventually('a renewal', () => store.renewLease(lease.id, NOW));
    expect((await store.list('queue', CALL)).map(({ name }) => name)).toEqual(['a']);
    expect(await raise('b')).toBe(2n);
  });

  it('leaves a former primary that still accepts connections, and does not return to it', async () => {
    await using cluster = await startPostgresCluster({ standby: 'synchronous' });
    let lateMs = 0;
    const clock: Clock = {
      monotonic: () => systemClock.monotonic() + lateMs,
      wall: () => systemClock.wall(),
      schedule: (...args) => systemClock.schedule(...args),
      keepAlive: () => systemClock.keepAlive(),
    };
    await using store = await open(cluster, uniqueNamespace(), { clock });
    const call = { timeoutMs: 1_000 };
    const lease = await store.grantLease(60_000, NOW);
    cluster.cutOff();
    await cluster.promote();
    // The former primary reports no error: its commits wait for a standby.
    await eventually('a renewal', () => store.renewLease(lease.id, { ...NOW, ...call }));
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }], call);
    const promoted = cluster.servers[1];
    // Every connection ends, and the former primary is the first one to be dialled.
    await promoted?.kill('SIGINT');
    await expect(store.read('a', call)).rejects.toMatchObject({ code: expect.any(String) });
    await promoted?.restart();
    await eventually('an answer of the new primary', async () => {
      const entry = await store.read('a', call);
      if (entry === undefined) throw new Error('the former primary has answered');
      return entry;
    });
    await promoted?.kill();
    // The first call may still be on a connection that has ended.
    await store.read('a', call).catch(() => {});
    await expect(store.read('a', call)).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('former primary') });
    // An operator has discarded the new primary. The former one has only its own commits.
    lateMs += 300_000;
    await expect(store.read('a', call)).resolves.toBeUndefined();
  });

  it('reports a commit that the standby has not confirmed as unknown, also when the wait is cancelled', async () => {
    await using cluster = await startPostgresCluster({ standby: 'synchronous' });
    const [primary, standby] = cluster.servers;
    // This role's own commits wait for no standby, and it is sent no warnings. Those of the store
    // do, and the store is.
    const settings = ["set synchronous_commit = 'local'", "set client_min_messages = 'error'"];
    await primary?.ctl(
      ['create role hasty login superuser', ...settings.map((set) => `alter role hasty ${set}`)].flatMap((sql) => ['-c', sql]),
    );
    await using store = await open(cluster, uniqueNamespace(), { credentials: { username: 'hasty' } });
    await standby?.kill();
    const put = (key: string, timeoutMs: number): Promise<unknown> =>
      store.compareAndSwap([{ key, expect: null, put: new Uint8Array() }], { timeoutMs });
    await expect(put('a', 2_000)).rejects.toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    let isOver = false;
    const cancelled = put('b', 30_000).finally(() => {
      isOver = true;
    });
    cancelled.catch(() => {});
    const cancel = "select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep'";
    const cancelUntilOver = async (): Promise<boolean> => {
      await primary?.ctl(['-c', cancel]);
      return isOver;
    };
    await until(cancelUntilOver, { what: 'the end of the call', ...WAIT });
    await expect(cancelled).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
  });
});

await describeOnServer('a database that is lost', { store: 'postgres', start: () => startPostgres() }, (server) => {
  async function run(database: string, ...statements: readonly string[]): Promise<void> {
    const client = new Client(new URL(`/${database}`, server().url).href);
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  it('is retried until it has been restored, and then has a leader again', async () => {
    await run('postgres', 'CREATE DATABASE lost');
    await using store = await openPostgres(`${new URL('/lost', server().url).href}?connectTimeoutMs=30000`);
    await using member = new Member(store, { ttlMs: 2_000 });
    const failed = new Set<string>();
    const note = (event: unknown): void => {
      const text = JSON.stringify(event);
      for (const state of ['3D000', '3F000']) if (text.includes(`(${state})`)) failed.add(state);
    };
    diagnosticsChannel.subscribe('incumbent:retry', note);
    let terms = 0;
    const stop = new AbortController();
    const leading = member.election('controller').lead(
      async ({ ended }) => {
        terms += 1;
        await ended;
      },
      { signal: stop.signal },
    );
    const over = leading.then(
      () => 'resolved',
      (error: unknown) => error,
    );
    const reaches = async (what: string, isReached: () => boolean): Promise<void> => {
      await until(async () => isReached(), { what, ...WAIT });
    };
    await reaches('the first term', () => terms === 1);
    await run('postgres', 'DROP DATABASE lost WITH (FORCE)');
    await reaches('a call without the database', () => failed.has('3D000'));
    await run('postgres', 'CREATE DATABASE lost');
    await reaches('a call without the schema', () => failed.has('3F000'));
    await run('lost', schemaSql('incumbent'));
    await reaches('the next term', () => terms === 2);
    const enough = new Error('enough');
    stop.abort(enough);
    expect(await over).toBe(enough);
    diagnosticsChannel.unsubscribe('incumbent:retry', note);
  });
});
