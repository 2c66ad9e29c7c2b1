import { isDeepStrictEqual } from 'node:util';

import { type Leadership, Member } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { startPgBouncer, startPostgres, uniqueNamespace, until, type Postgres } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { afterEach, describe, expect, it } from 'vitest';

import { isStaleTerm, openPostgres, sqlGuard } from '../src/index.ts';

const TTL_MS = 2_000;
const ELECTION = 'prices';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const WAITING_CLAIM = `select pid, query_start from pg_stat_activity where wait_event_type = 'Lock' and query like '%.swap(%'`;
const NAMESPACE_LOCK = 'select from incumbent.namespaces where name = $1 for no key update nowait';

/** Two members of one election, of which the first one leads, and clients of its database. */
class Scene {
  readonly url: string;
  readonly namespace: string = uniqueNamespace();

  constructor(server: Pick<Postgres, 'url'>) {
    this.url = server.url;
  }

  async client(url = this.url): Promise<Client> {
    const client = new Client({ connectionString: url });
    // The server may end the connection at any time.
    client.on('error', () => {});
    await client.connect();
    closing.push(() => client.end().catch(() => {}));
    return client;
  }

  async store() {
    const store = await openPostgres(`${this.url}?namespace=${this.namespace}`);
    closing.push(() => store.close());
    return store;
  }

  async leads(memberId = 'a', election = ELECTION) {
    const store = await this.store();
    const member = new Member(store, { memberId, ttlMs: TTL_MS });
    closing.push(() => member.close());
    const leadership = await member.election(election).campaign();
    return { store, member, leadership, guard: sqlGuard(store, leadership) };
  }

  /** The second member, and when it leads. */
  async waits() {
    const store = await this.store();
    const member = new Member(store, { memberId: 'b', ttlMs: TTL_MS });
    closing.push(() => member.close());
    const state: { leadership?: Leadership } = {};
    const elected = member
      .election(ELECTION)
      .campaign()
      .then((leadership) => (state.leadership = leadership));
    // A case may end before.
    elected.catch(() => {});
    await this.until('select count(*) > 0 as met from incumbent.keys where key like $1', [`elections/${ELECTION}/candidates/b%`]);
    return { store, state, elected };
  }

  /** Ends the first member's lease at once, as an operator or a set clock would. */
  async endLease(): Promise<void> {
    const operator = await this.client();
    await operator.query(
      `delete from incumbent.leases l using incumbent.keys k, incumbent.namespaces n
       where n.name = $1 and k.namespace = n.id and k.key = $2 and l.namespace = n.id and l.id = k.lease`,
      [this.namespace, `elections/${ELECTION}/leader`],
    );
  }

  async until(sql: string, values: string[] = []): Promise<void> {
    const observer = await this.client();
    await until(async () => (await observer.query<{ met: boolean }>(sql, values)).rows[0]?.met === true, { what: sql });
  }

  /** A statement of a store waits for a lock. */
  claimWaits(): Promise<void> {
    return this.until(`select count(*) > 0 as met from (${WAITING_CLAIM}) claims`);
  }
}

function casesOn(scene: () => Scene): void {
  it('a guarded transaction commits before the next leader is elected', async () => {
    const world = scene();
    const { guard } = await world.leads();
    const { state, elected } = await world.waits();
    const client = await world.client();
    await client.query('begin');
    await client.query(guard);
    await world.endLease();
    await world.claimWaits();
    expect(state.leadership).toBeUndefined();
    await client.query('commit');
    expect((await elected).term).toBe(2n);
  });

  it('a transaction of an older term is refused, whatever its isolation', async () => {
    const world = scene();
    const { guard } = await world.leads();
    const { elected } = await world.waits();
    await world.endLease();
    await elected;
    const client = await world.client();
    for (const level of ['read committed', 'repeatable read', 'serializable']) {
      await client.query(`begin isolation level ${level}`);
      const failure = await client.query(guard).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'IC004', message: `STALE_TERM: this leadership of elections/${ELECTION} has ended` });
      expect(isStaleTerm(failure)).toBe(true);
      await expect(client.query('select 1')).rejects.toMatchObject({ code: '25P02' });
      await client.query('rollback');
    }
  });

  it('a transaction is refused once the lease has ended, though nobody else leads', async () => {
    const world = scene();
    const { guard } = await world.leads();
    await world.endLease();
    await expect((await world.client()).query(guard)).rejects.toMatchObject({ code: 'IC004' });
  });

  it('the server ends a transaction that stands still, and the next leader is elected', async () => {
    const world = scene();
    const { guard } = await world.leads();
    const { elected } = await world.waits();
    const client = await world.client();
    await client.query('create table if not exists written (id int)');
    await client.query('begin');
    await client.query(guard);
    await client.query('insert into written values (1)');
    await world.endLease();
    expect((await elected).term).toBe(2n);
    await expect(client.query('commit')).rejects.toThrow(/connection|terminat/i);
    await expect((await world.client()).query('select * from written')).resolves.toMatchObject({ rows: [] });
  });

  it('a resignation waits for a guarded transaction', async () => {
    const world = scene();
    const { guard, leadership } = await world.leads();
    const client = await world.client();
    await client.query('begin');
    await client.query(guard);
    const resigned = leadership.resign();
    await world.claimWaits();
    await client.query('commit');
    await resigned;
    await expect(client.query(guard)).rejects.toMatchObject({ code: 'IC004' });
  });

  it('other elections of the namespace do not wait', async () => {
    const world = scene();
    const { guard } = await world.leads();
    const { state } = await world.waits();
    const client = await world.client();
    await client.query('begin');
    await client.query(guard);
    await world.endLease();
    const observer = await world.client();
    const claim = async (): Promise<unknown> => (await observer.query(WAITING_CLAIM)).rows[0];
    const isFree = async (): Promise<boolean> => {
      const before = await claim();
      const free = await observer.query(NAMESPACE_LOCK, [world.namespace]).then(
        () => true,
        () => false,
      );
      return free && before !== undefined && isDeepStrictEqual(before, await claim());
    };
    await until(isFree, { what: 'the lock of the namespace while a claim waits' });
    expect(state.leadership).toBeUndefined();
    await client.query('commit');
  });

  it('the statement without parameters does the same', async () => {
    const world = scene();
    const { guard } = await world.leads();
    const client = await world.client();
    await client.query(`begin; ${guard.literal}; commit`);
    await world.endLease();
    await expect(client.query(guard.literal)).rejects.toMatchObject({ code: 'IC004' });
  });
}

for (const version of ['default', 'newer'] as const) {
  await describeOnServer(
    `sqlGuard on PostgreSQL (${version})`,
    { store: 'postgres', version, start: () => startPostgres({ version }) },
    (server) => casesOn(() => new Scene(server())),
  );
}

await describeOnServer('sqlGuard', { store: 'postgres', start: () => startPostgres() }, (server) => {
  it('needs the right to use the schema, and no rights on its tables', async () => {
    const world = new Scene(server());
    const { guard } = await world.leads();
    const admin = await world.client();
    await admin.query('create role worker login');
    const worker = await world.client(world.url.replace('test@', 'worker@'));
    await expect(worker.query(guard)).rejects.toMatchObject({ code: '42501' });
    await admin.query('grant usage on schema incumbent to worker');
    await worker.query('begin');
    await worker.query(guard);
    await expect(worker.query('select * from incumbent.keys')).rejects.toMatchObject({ code: '42501' });
    await worker.query('rollback');
  });

  it('bounds idle time for its own transaction, and keeps a shorter bound', async () => {
    const world = new Scene(server());
    const { guard } = await world.leads();
    const client = await world.client();
    const settings = async (): Promise<unknown> =>
      (await client.query(`select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('lock_timeout') as lock`))
        .rows[0];
    await client.query(`set lock_timeout = '7s'`);
    await client.query('begin');
    await client.query(guard);
    expect(await settings()).toEqual({ idle: `${TTL_MS / 1_000}s`, lock: '7s' });
    await client.query('commit');
    expect(await settings()).toEqual({ idle: '0', lock: '7s' });
    for (const shorter of ['300ms', '1s']) {
      await client.query(`set idle_in_transaction_session_timeout = '${shorter}'`);
      await client.query('begin');
      await client.query(guard);
      expect(await settings()).toEqual({ idle: shorter, lock: '7s' });
      await client.query('commit');
    }
  });

  it('is for leaderships that hold, on stores of this package', async () => {
    const world = new Scene(server());
    const { store, leadership } = await world.leads();
    const memory = await openMemory();
    expect(() => sqlGuard(memory, leadership)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    await memory.close();
    await leadership.resign();
    expect(() => sqlGuard(store, leadership)).toThrow(expect.objectContaining({ code: 'LEADERSHIP_ENDED' }));
  });

  it('is for the store of the leadership, or another one like it', async () => {
    const [world, elsewhere] = [new Scene(server()), new Scene(server())];
    const { leadership, guard } = await world.leads();
    expect(sqlGuard(await world.store(), leadership)).toEqual(guard);
    const memory = await openMemory();
    const member = new Member(memory, { memberId: 'a', ttlMs: TTL_MS });
    closing.push(
      () => memory.close(),
      () => member.close(),
    );
    const foreign = await member.election(ELECTION).campaign();
    const own = `"postgres" with the namespace "${world.namespace}"`;
    for (const [store, of, theirs] of [
      [await world.store(), foreign, '"memory" with the namespace ""'],
      [await elsewhere.store(), leadership, own],
    ] as const) {
      expect(() => sqlGuard(store, of)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(`and its store is ${theirs}`) }),
      );
    }
  });

  it('fails as for a stale term on another database with the same namespace and election', async () => {
    const world = new Scene(server());
    const admin = await world.client();
    await admin.query('create database elsewhere');
    const url = new URL(world.url);
    url.pathname = '/elsewhere';
    const other = await openPostgres(`${url.href}?namespace=${world.namespace}`);
    const member = new Member(other, { memberId: 'a', ttlMs: TTL_MS });
    closing.push(
      () => other.close(),
      () => member.close(),
    );
    await member.election(ELECTION).campaign();
    const { leadership } = await world.leads();
    const client = await world.client(url.href);
    const failure = await client.query(sqlGuard(other, leadership)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'IC004' });
  });
});

await describeOnServer(
  'sqlGuard through PgBouncer',
  {
    store: 'postgres',
    start: async () => {
      const server = await startPostgres();
      const pooler = await startPgBouncer(server);
      return { url: pooler.url, stop: () => Promise.all([pooler.stop(), server.stop()]) };
    },
  },
  (pooler) => casesOn(() => new Scene(pooler())),
);

describe('isStaleTerm', () => {
  it('finds the error of the server in what libraries make of it', () => {
    const error = Object.assign(new Error('STALE_TERM'), { code: 'IC004' });
    expect(isStaleTerm(error)).toBe(true);
    expect(isStaleTerm(new Error('Failed query', { cause: error }))).toBe(true);
    expect(isStaleTerm({ code: 'P2010', meta: { code: 'IC004' } })).toBe(true);
    const loop = new Error('loop');
    loop.cause = loop;
    for (const other of [undefined, null, 'IC004', new Error('IC004'), { code: '40001' }, loop]) expect(isStaleTerm(other)).toBe(false);
  });
});
