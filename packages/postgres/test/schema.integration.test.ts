/** The schema on a real server: its notifications, and how it comes from an older version. */

import { readFile } from 'node:fs/promises';

import { type Change, Member, type Store } from '@incumbent/core';
import { startPostgres, uniqueNamespace, until } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { Client } from 'pg';
import { expect, it } from 'vitest';

import { openPostgres } from '../src/index.ts';
import { notificationIn } from '../src/watch-hub/probe.ts';

const CALL = { timeoutMs: 10_000 };
const AT = { monotonicMs: 0, wallMs: 0 };
const VALUE = new Uint8Array([1]);

/** An operator with psql, who listens to one namespace. */
class Operator {
  readonly client: Client;
  readonly namespace: string;
  readonly #heard: (readonly string[])[] = [];

  private constructor(client: Client, namespace: string) {
    this.client = client;
    this.namespace = namespace;
    client.on('notification', ({ payload = '' }) => this.#heard.push(notificationIn(payload)?.keys ?? []));
  }

  static async connect(url: string, namespace: string): Promise<Operator> {
    const client = new Client(url);
    await client.connect();
    const { rows } = await client.query<{ channel: string }>('SELECT channel FROM incumbent.namespaces WHERE name = $1', [namespace]);
    await client.query(`LISTEN "${rows[0]?.channel}"`);
    return new Operator(client, namespace);
  }

  /** Runs these statements as one transaction. `@` stands for the namespace. */
  async run(...statements: readonly string[]): Promise<void> {
    const space = `(SELECT id FROM incumbent.namespaces WHERE name = '${this.namespace}')`;
    await this.client.query(`BEGIN; ${statements.join('; ').replaceAll('@', space)}; COMMIT`);
  }

  /** The keys of each notification since the last call, before which everything has arrived. */
  async heard(): Promise<readonly (readonly string[])[]> {
    await this.client.query('SELECT 1');
    return this.#heard.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end();
  }
}

function puts(...keys: readonly string[]): readonly Change[] {
  return keys.map((key) => ({ key, expect: null, put: VALUE }));
}

await describeOnServer('the schema', { store: 'postgres', start: () => startPostgres() }, (server) => {
  async function scene(): Promise<{ readonly store: Store; readonly operator: Operator } & AsyncDisposable> {
    const [{ url }, namespace] = [server(), uniqueNamespace()];
    const store = await openPostgres(`${url}?namespace=${namespace}&connectTimeoutMs=30000`);
    const operator = await Operator.connect(url, namespace);
    return {
      store,
      operator,
      [Symbol.asyncDispose]: async () => {
        await operator[Symbol.asyncDispose]();
        await store.close();
      },
    };
  }

  it('sends one notification for a swap of several keys, which get one revision', async () => {
    await using opened = await scene();
    const { store, operator } = opened;
    const created = await store.compareAndSwap(puts('a', 'b', 'c'), CALL);
    if (!created.swapped) throw new Error('the swap was refused');
    expect(new Set(created.revisions).size).toBe(1);
    expect(await operator.heard()).toEqual([['a', 'b', 'c']]);
    const [a = '', b = '', c = ''] = created.revisions;
    const changes: Change[] = [
      { key: 'b', expect: b, put: VALUE },
      { key: 'a', expect: a, delete: true },
      { key: 'c', expect: c },
      { key: 'd', expect: null, put: VALUE },
    ];
    expect(await store.compareAndSwap(changes, CALL)).toMatchObject({ swapped: true });
    expect(await operator.heard()).toEqual([['b', 'a', 'd']]);
    expect(await store.compareAndSwap(changes, CALL)).toMatchObject({ swapped: false });
    expect(await operator.heard()).toEqual([]);
  });

  it('sends one notification for a handover, and one for the end of a lease with many keys', async () => {
    await using opened = await scene();
    const { store, operator } = opened;
    const { id: lease } = await store.grantLease(60_000, { ...CALL, at: AT });
    const keys = Array.from({ length: 50 }, (_, index) => `members/${index}`);
    await store.compareAndSwap(
      keys.map((key) => ({ key, expect: null, put: VALUE, lease })),
      CALL,
    );
    await operator.heard();
    await store.revokeLease(lease, CALL);
    const ends = await operator.heard();
    expect(ends.map((end) => end.toSorted())).toEqual([keys.toSorted()]);
  });

  it('splits a notification whose keys do not fit', async () => {
    await using opened = await scene();
    const { store, operator } = opened;
    const keys = Array.from({ length: 100 }, (_, index) => `long/${String(index).padStart(3, '0')}${'k'.repeat(200)}`);
    const watched = store.watchList('long', { signal: AbortSignal.timeout(30_000) })[Symbol.asyncIterator]();
    expect(await watched.next()).toMatchObject({ value: [] });
    await store.compareAndSwap(puts(...keys), CALL);
    const heard = await operator.heard();
    expect(heard.length).toBeGreaterThan(1);
    expect(heard.length).toBeLessThan(5);
    expect(heard.flat()).toEqual(keys);
    let state = await watched.next();
    while (Array.isArray(state.value) && state.value.length < keys.length) state = await watched.next();
    expect(state.value).toHaveLength(keys.length);
    await watched.return?.();
  });

  it('notifies of what an operator changes with plain SQL: several statements, another name, early triggers', async () => {
    await using opened = await scene();
    const { store, operator } = opened;
    const insert = (key: string): string => `INSERT INTO incumbent.keys (namespace, key, value) VALUES (@, '${key}', 'v')`;
    await operator.run(insert('a'), insert('b'), `UPDATE incumbent.keys SET value = 'w' WHERE namespace = @ AND key = 'a'`);
    expect(await operator.heard()).toEqual([['a', 'b', 'a']]);
    await operator.run(`UPDATE incumbent.keys SET key = 'c' WHERE namespace = @ AND key = 'a'`);
    expect(await operator.heard()).toEqual([['a', 'c']]);
    await operator.run(
      insert('d'),
      'SET CONSTRAINTS ALL IMMEDIATE',
      insert('e'),
      `DELETE FROM incumbent.keys WHERE namespace = @ AND key = 'd'`,
    );
    expect((await operator.heard()).flat()).toEqual(['d', 'e', 'd']);
    await operator.run(insert('f'), 'SAVEPOINT s', insert('g'), 'ROLLBACK TO s', insert('h'));
    expect(await operator.heard()).toEqual([['f', 'h']]);
    const before = await store.read('b', CALL);
    await operator.run(`UPDATE incumbent.keys SET value = 'x' WHERE namespace = @ AND key = 'b'`);
    const after = await store.read('b', CALL);
    expect(after?.revision).not.toBe(before?.revision);
  });

  it('shows a watch what an operator changes', async () => {
    await using opened = await scene();
    const { store, operator } = opened;
    const watched = store.watch('a', { signal: AbortSignal.timeout(30_000) })[Symbol.asyncIterator]();
    expect(await watched.next()).toMatchObject({ value: undefined });
    await operator.run(`INSERT INTO incumbent.keys (namespace, key, value) VALUES (@, 'a', 'v')`);
    expect(await watched.next()).toMatchObject({ value: { key: 'a' } });
    await operator.run(`DELETE FROM incumbent.keys WHERE namespace = @`);
    expect(await watched.next()).toMatchObject({ value: undefined });
    await watched.return?.();
  });

  it('counts up in both namespaces of one transaction', async () => {
    await using one = await scene();
    await using other = await scene();
    const space = `(SELECT id FROM incumbent.namespaces WHERE name = '${other.operator.namespace}')`;
    await one.operator.run(`INSERT INTO incumbent.keys (namespace, key, value) VALUES (@, 'a', 'v'), (${space}, 'b', 'v')`);
    expect(await one.operator.heard()).toEqual([['a']]);
    expect(await other.operator.heard()).toEqual([['b']]);
  });
});

/** An election with two candidates, in which the first leader hands over to the second. */
async function handsOver(one: Store, other: Store): Promise<void> {
  await using first = new Member(one, { memberId: 'a', ttlMs: 5_000 });
  await using second = new Member(other, { memberId: 'b', ttlMs: 5_000 });
  const leadership = await first.election('upgraded').campaign();
  const next = second.election('upgraded').campaign();
  await until(async () => (await one.list('elections/upgraded/candidates', CALL)).length === 2, { what: 'the second candidate' });
  await leadership.handover();
  expect((await next).term).toBe(leadership.term + 1n);
}

await describeOnServer('a schema of version 1', { store: 'postgres', start: () => startPostgres() }, (server) => {
  const space = `(SELECT id FROM incumbent.namespaces WHERE name = 'old')`;

  async function createOld(client: Client): Promise<void> {
    await client.query('DROP SCHEMA IF EXISTS incumbent CASCADE');
    await client.query(await readFile(new URL('schema-1.sql', import.meta.url), 'utf8'));
    await client.query(`SELECT incumbent.open_namespace('old', 1000)`);
    await client.query(`INSERT INTO incumbent.keys (namespace, key, value) VALUES (${space}, 'kept', 'v')`);
  }

  it('is refused with the command that prints the statements, or brought up to date, with its keys', async () => {
    const client = new Client(server().url);
    await client.connect();
    const url = `${server().url}?namespace=old&connectTimeoutMs=30000`;
    try {
      await createOld(client);
      await expect(openPostgres(`${url}&migrate=false`)).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        message: expect.stringMatching(/is of version 1, and this package needs version 5.*incumbent postgres schema/),
      });
      await client.query('CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA incumbent TO reader');
      await expect(openPostgres(url.replace('//test@', '//reader@'))).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining('incumbent postgres schema'),
      });
      const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgres(url)));
      const [store, second] = stores;
      if (store === undefined || second === undefined) throw new Error('two stores are needed');
      const kept = await store.read('kept', CALL);
      expect(kept).toMatchObject({ key: 'kept', value: new Uint8Array([118]) });
      const swapped = await store.compareAndSwap([{ key: 'kept', expect: kept?.revision ?? null, put: VALUE }, ...puts('new')], CALL);
      expect(swapped).toMatchObject({ swapped: true });
      const { rows } = await client.query(`SELECT DISTINCT revision FROM incumbent.keys WHERE namespace = ${space}`);
      expect(rows).toHaveLength(1);
      await handsOver(store, second);
      await Promise.all(stores.map((each) => each.close()));
    } finally {
      await client.end();
    }
  });
});
