/** A store with the application's own pool, on a real server. */

import { Member } from '@incumbent/core';
import { hostOf, startPostgres, startProxy, uniqueNamespace, until, type PostgresServer } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Pool, type PoolConfig } from 'pg';
import { expect, it } from 'vitest';

import { isStaleTerm, openPostgres, sqlGuard } from '../src/index.ts';

const CALL = { timeoutMs: 10_000 };
const AT = { monotonicMs: 0, wallMs: 0 };

/** A pool as an application makes it, which collects the errors that it reports. */
class AppPool extends Pool {
  readonly errors: Error[] = [];

  constructor({ url }: Pick<PostgresServer, 'url'>, config: PoolConfig = {}) {
    super({ connectionString: url, ...config });
    this.on('error', (error) => this.errors.push(error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    expect(this.errors).toEqual([]);
  }
}

await describeOnServer("a store with the application's pool", { store: 'postgres', start: () => startPostgres() }, (server) => {
  const open = (pool: Pool) => openPostgres({ pool, namespace: uniqueNamespace(), connectTimeoutMs: 30_000 });

  it('takes connections out of the pool, and none are left after it was closed', async () => {
    await using pool = new AppPool(server());
    const store = await open(pool);
    const watching = store.watch('a', { signal: AbortSignal.timeout(30_000) })[Symbol.asyncIterator]();
    expect(await watching.next()).toEqual({ done: false, value: undefined });
    expect(pool.totalCount - pool.idleCount).toBeGreaterThanOrEqual(2);
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }], CALL);
    expect(await watching.next()).toMatchObject({ value: { value: new Uint8Array([1]) } });
    await store.close();
    await expect(watching.next()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    await until(() => pool.totalCount === 0, { what: 'the pool to be empty' });
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('keeps a connection for its calls, also while the application uses all others', async () => {
    await using pool = new AppPool(server(), { max: 3 });
    await using store = await open(pool);
    const { id } = await store.grantLease(5_000, { ...CALL, at: AT });
    const others = await Promise.all([pool.connect(), pool.connect()]);
    const late = pool.connect();
    for (let i = 0; i < 20; i += 1) await store.renewLease(id, { ...CALL, at: AT });
    for (const client of others) client.release();
    (await late).release();
  });

  it.each([
    ['waits for ever', 0],
    ['has a time limit of its own', 100],
  ])('without a free connection says so, and opens when there is one: the pool %s', async (_, connectionTimeoutMillis) => {
    await using pool = new AppPool(server(), { max: 3 });
    const all = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    // Not sooner: it also limits how long a server may take to answer.
    pool.options.connectionTimeoutMillis = connectionTimeoutMillis;
    await expect(openPostgres({ pool, namespace: uniqueNamespace(), connectTimeoutMs: 300 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'notSent',
      message: expect.stringContaining('the pool has given no connection within'),
    });
    pool.options.connectionTimeoutMillis = 0;
    for (const client of all) client.release();
    // What was asked for before goes back to the pool.
    await until(() => pool.waitingCount === 0, { what: 'nobody to wait for the pool' });
    await using store = await open(pool);
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('drops the connection of a call that has timed out, and goes on with another one', async () => {
    await using proxy = await startProxy(server().url);
    const url = server().url.replace(hostOf(server().url), hostOf(proxy.url));
    await using pool = new AppPool({ url });
    await using store = await open(pool);
    // Afterwards the pool has an idle connection, which does not answer either.
    await pool.query('SELECT 1');
    proxy.blackhole({ scope: 'existing' });
    const swap = store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array() }], { timeoutMs: 500 });
    await expect(swap).rejects.toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    // The call was lost with its connection.
    expect(await store.read('a', CALL)).toBeUndefined();
  });

  it('ends a transaction that somebody else left open, so that its own calls are committed', async () => {
    await using pool = new AppPool(server(), { max: 3 });
    const client = await pool.connect();
    await client.query('BEGIN');
    client.release();
    await using store = await open(pool);
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([7]) }], CALL);
    await using other = new AppPool(server());
    const found = await other.query("SELECT 1 FROM incumbent.keys WHERE key = 'a' AND value = '\\x07'");
    expect(found.rows.length).toBe(1);
  });

  it('reads rows whatever the pool does with types', async () => {
    const types = { getTypeParser: () => () => 'parsed by the application' };
    await using pool = new AppPool(server(), { types, query_timeout: 5_000, statement_timeout: 5_000 });
    await using store = await open(pool);
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([7]) }], CALL);
    expect(await store.read('a', CALL)).toMatchObject({ value: new Uint8Array([7]) });
  });

  it('names a role of the pool that may not use the schema', async () => {
    await using admin = new AppPool(server());
    await openPostgres({ pool: admin }).then((store) => store.close());
    await admin.query('CREATE ROLE pooled LOGIN');
    await using pool = new AppPool(server(), { connectionString: server().url.replace('//test@', '//pooled@') });
    await expect(openPostgres({ pool })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { grant: expect.stringContaining('TO "pooled"') },
    });
  });

  it('says how the pool cannot connect', async () => {
    const withUser = (user: string): PoolConfig => ({ connectionString: server().url.replace('//test@', `//${user}@`) });
    await using unknown = new AppPool(server(), withUser('nobody'));
    await expect(open(unknown)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await using elsewhere = new AppPool(server(), { connectionString: 'postgres://test@127.0.0.1:1/postgres' });
    await expect(open(elsewhere)).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
    const ended = new AppPool(server());
    await ended.end();
    await expect(open(ended)).rejects.toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('after calling end') });
    await expect(openPostgres({ pool: { connect: () => Promise.resolve({}) } })).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('elects, and fences transactions on the same pool', async () => {
    await using pool = new AppPool(server());
    await pool.query('CREATE TABLE pool_price (euros integer)');
    await using store = await open(pool);
    await using member = new Member(store, { memberId: 'a', ttlMs: 5_000 });
    const leadership = await member.election('prices').campaign();
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query(sqlGuard(store, leadership));
    await client.query('INSERT INTO pool_price VALUES (1)');
    await client.query('COMMIT');
    const guard = sqlGuard(store, leadership);
    client.release();
    await leadership.resign();
    expect(isStaleTerm(await pool.query(guard).catch((error: unknown) => error))).toBe(true);
  });

  it('survives the end of its connections', async () => {
    await using pool = new AppPool(server());
    await using store = await open(pool);
    await using member = new Member(store, { memberId: 'a', ttlMs: 5_000 });
    const leadership = await member.election('prices').campaign();
    await using admin = new AppPool(server(), { application_name: 'admin' });
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
    // The call that finds the connection ended may fail. The next one takes another connection.
    const works = () => store.read('elections/prices/leader', CALL).then(Boolean, () => false);
    await until(works, { what: 'the store to work again' });
    expect(leadership.isValid()).toBe(true);
    await store.compareAndSwap([{ key: 'watched', expect: null, put: new Uint8Array() }], CALL);
    for await (const entry of store.watch('watched', { signal: AbortSignal.timeout(30_000) })) if (entry !== undefined) break;
    await leadership.resign();
  });
});
