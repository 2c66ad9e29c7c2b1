import { describe, expect, test } from 'vitest';

import { requireStore, startPostgresCluster, until, type PostgresCluster } from '../src/index.ts';
import type { ClusterServer } from '../src/servers/types.ts';

const ADD = 'insert into witness values (default)';
const COUNT = 'select count(*) from witness';
const IN_RECOVERY = 'select pg_is_in_recovery()';

function at(cluster: PostgresCluster, index: number): ClusterServer {
  const server = cluster.servers[index];
  if (server === undefined) throw new RangeError(`no server ${index}`);
  return server;
}

async function ask(cluster: PostgresCluster, index: number, sql: string): Promise<string> {
  return (await at(cluster, index).ctl(['-c', sql])).trim();
}

/** A standby server shows a commit a moment after it has written it. */
async function shows(cluster: PostgresCluster, index: number, count: number): Promise<void> {
  const look = async (): Promise<boolean> => (await ask(cluster, index, COUNT)) === String(count);
  await until(look, { what: `${count} rows at ${at(cluster, index).url}` });
}

describe.runIf(await requireStore({ store: 'postgres', own: true }))('a primary with a standby server', () => {
  test('that is synchronous loses no commit when its primary is killed and the standby promoted', async () => {
    await using cluster = await startPostgresCluster({ standby: 'synchronous' });
    await expect(cluster.leader()).resolves.toBe(0);
    await expect(ask(cluster, 1, IN_RECOVERY)).resolves.toBe('t');
    await ask(cluster, 0, `create table witness (id serial)`);
    await ask(cluster, 0, ADD);
    await at(cluster, 0).kill();
    await cluster.promote();
    await expect(cluster.leader()).resolves.toBe(1);
    await expect(ask(cluster, 1, COUNT)).resolves.toBe('1');
    await ask(cluster, 1, ADD);

    await cluster.follow(0);
    await expect(cluster.leader()).resolves.toBe(1);
    await expect(ask(cluster, 0, IN_RECOVERY)).resolves.toBe('t');
    await shows(cluster, 0, 2);
    await at(cluster, 1).kill();
    await cluster.promote(0);
    await ask(cluster, 0, ADD);
    await expect(ask(cluster, 0, COUNT)).resolves.toBe('3');
  });

  test('that is synchronous and cannot be reached delays commits until it can', async () => {
    await using cluster = await startPostgresCluster({ standby: 'synchronous' });
    await ask(cluster, 0, 'create table witness (id serial)');
    cluster.cutOff();
    const adding = ask(cluster, 0, ADD);
    const waiting = `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`;
    await until(async () => (await ask(cluster, 0, waiting)) === '1', { what: 'a commit that waits' });
    await cluster.heal();
    await adding;
    await cluster.inSync();
    await shows(cluster, 1, 1);
  });

  test('that is asynchronous loses the commits that it was not sent', async () => {
    await using cluster = await startPostgresCluster({ standby: 'asynchronous' });
    await ask(cluster, 0, 'create table witness (id serial)');
    await ask(cluster, 0, ADD);
    await cluster.inSync();
    cluster.cutOff();
    await ask(cluster, 0, ADD);
    await at(cluster, 0).kill();
    await cluster.promote();
    await expect(ask(cluster, 1, COUNT)).resolves.toBe('1');
  });

  test('has two primaries if the former one goes on, and the newer timeline counts', async () => {
    await using cluster = await startPostgresCluster({ standby: 'asynchronous' });
    await at(cluster, 0).pause();
    await cluster.promote();
    await at(cluster, 0).resume();
    await expect(ask(cluster, 0, IN_RECOVERY)).resolves.toBe('f');
    await expect(cluster.leader()).resolves.toBe(1);
  });
});

describe.runIf(await requireStore({ store: 'postgres', version: 'newer', own: true }))('a newer primary', () => {
  test('with two standby servers is replaced by one of them, which the others follow', async () => {
    await using cluster = await startPostgresCluster({ standby: 'synchronous', version: 'newer', size: 3 });
    await ask(cluster, 0, 'create table witness (id serial)');
    await at(cluster, 0).kill();
    await cluster.promote(2);
    await cluster.follow(0);
    await cluster.follow(1);
    await cluster.inSync();
    await ask(cluster, 2, ADD);
    for (const index of [0, 1]) await shows(cluster, index, 1);
  });
});
