/**
 * Claims about ZooKeeper only: its sessions, the list of a session's nodes, and the reconnection of
 * our client.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from 'incumbent';
import { fourLetterWord, startZookeeper, until, type StoreService } from '@incumbent/test-support';
import { now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { freshNamespace, WAIT_MS, spawnMany, storeUrl } from './pair.ts';

const TTL_MS = 10_000;

/** The limit of a whole request or record in the default configuration of a server. */
const RECORD_BYTES = 1_048_575;

/** The paths of all ephemeral nodes, by session. */
export async function nodesBySession(server: StoreService): Promise<ReadonlyMap<string, readonly string[]>> {
  const dump = await fourLetterWord(server, 'dump');
  const sessions = new Map<string, string[]>();
  let nodes: string[] = [];
  for (const line of dump.slice(dump.indexOf('Sessions with Ephemerals')).split('\n')) {
    const session = /^(0x[0-9a-f]+):$/.exec(line)?.[1];
    if (session !== undefined) sessions.set(session, (nodes = []));
    else if (line.startsWith('\t/')) nodes.push(line.trim());
  }
  return sessions;
}

/** How many packets the server has received, including these requests. */
async function received(server: StoreService): Promise<number> {
  return Number(/^zk_packets_received\t(\d+)/m.exec(await fourLetterWord(server, 'mntr'))?.[1]);
}

export const zookeeperIdle: Check = {
  name: 'zookeeper-idle',
  claim:
    'A process that leads 1,000 elections on ZooKeeper does so by one session, and sends renewals and pings alone when idle: under 1.5 packets a second.',
  method:
    `One process leads 1,000 elections, ttl ${TTL_MS} ms. For 20 s, from 3 s after the last was won: packets as the server counts them (mntr), the one that asks left out, ` +
    'and the sessions that nodes live by (dump). A renewal is a transaction, every third of the ttl; the session for reads pings every third of its 6 s.',
  runs: 1,
  parallel: 1,
  open: onServer(
    () => startZookeeper(),
    async (server) => {
      await using many = await spawnMany(storeUrl([server.url], freshNamespace(), 'zookeeper'), { ttlMs: TTL_MS });
      await many.waitFor('allLed', { withinMs: 2 * WAIT_MS });
      await sleep(3_000);
      const before = await received(server);
      await sleep(20_000);
      const perSecond = ((await received(server)) - before - 1) / 20;
      const sessions = (await nodesBySession(server)).size;
      assert.ok(perSecond < 1.5, `${perSecond} packets per second`);
      assert.equal(sessions, 1);
      return { figures: { perSecond, sessions } };
    },
  ),
};

export const zookeeperManyElections: Check = {
  name: 'zookeeper-many-elections',
  claim:
    'A member that leads 5,000 elections on ZooKeeper opens as many sessions as it takes for each to end in one record that servers accept; when it is killed, all its nodes go.',
  method:
    `One process leads 5,000 elections, ttl ${TTL_MS} ms. sessions, and the longest record: the paths of a session's nodes with 4 bytes of length each, from the server's own ` +
    'list (dump). Then it is killed (SIGKILL); goneMs: until the server lists none of its nodes any more.',
  runs: 3,
  parallel: 1,
  open: onServer(
    () => startZookeeper(),
    async (server) => {
      const startedAt = now();
      await using many = await spawnMany(storeUrl([server.url], freshNamespace(), 'zookeeper'), { ttlMs: TTL_MS, elections: 5_000 });
      await many.waitFor('allLed', { withinMs: 4 * WAIT_MS });
      const ledAfterMs = now() - startedAt;
      const sessions = [...(await nodesBySession(server)).values()];
      const records = sessions.map((paths) => paths.reduce((sum, path) => sum + Buffer.byteLength(path) + 4, 0));
      assert.equal(sessions.flat().length, 10_001, 'an entry and a record an election, and the member');
      const recordBytes = Math.max(...records);
      assert.ok(sessions.length > 1 && recordBytes < RECORD_BYTES, `${sessions.length} sessions, ${recordBytes} bytes`);
      many.sigkill();
      const killedAt = now();
      await until(async () => (await nodesBySession(server)).size === 0, { what: 'its nodes are gone', withinMs: WAIT_MS });
      return { figures: { sessions: sessions.length, recordBytes, ledAfterMs, goneMs: now() - killedAt } };
    },
  ),
};

export const zookeeperRestarts: Check = {
  name: 'zookeeper-restarts',
  claim: 'An open store finds ZooKeeper again each time that the server is killed (kill -9) and restarted, with its lease and its watches.',
  method:
    'One open store, one lease with one key and a watch on another key. In each run the server is killed with SIGKILL and restarted within a second. backMs: from the server ' +
    'being ready until the store reads, renews the lease, and the watch shows a change of this run. npm node-zookeeper-client hung in 3 of 8 such runs.',
  runs: 100,
  parallel: 1,
  open: async () => {
    const server = await startZookeeper();
    const store = await openStore(storeUrl([server.url], freshNamespace(), 'zookeeper'));
    const call = { timeoutMs: 2_000 };
    const moment = (): { monotonicMs: number; wallMs: number } => ({ monotonicMs: performance.now(), wallMs: Date.now() });
    const lease = await store.grantLease(TTL_MS, { ...call, at: moment() });
    await store.compareAndSwap([{ key: 'mine', expect: null, put: new Uint8Array([1]), lease: lease.id }], call);
    const over = new AbortController();
    let shown = '';
    const watching = (async () => {
      for await (const entry of store.watch('told', { signal: over.signal })) shown = new TextDecoder().decode(entry?.value);
    })();
    return {
      run: async (index, { random }) => {
        await server.kill('SIGKILL');
        await sleep(random() * 1_000);
        await server.restart();
        const readyAt = now();
        const text = `run ${index}`;
        await until(
          async () => {
            const current = await store.read('told', call).catch(() => null);
            if (current === null) return false;
            if (new TextDecoder().decode(current?.value) === text) return true;
            const change = { key: 'told', expect: current?.revision ?? null, put: new TextEncoder().encode(text) };
            return store.compareAndSwap([change], call).then(
              ({ swapped }) => swapped,
              () => false,
            );
          },
          { what: 'it reads and writes again', withinMs: WAIT_MS },
        );
        await until(async () => (await store.renewLease(lease.id, { ...call, at: moment() }).catch(() => undefined)) !== undefined, {
          what: 'the lease is renewed',
          withinMs: TTL_MS,
        });
        await until(() => shown === text, { what: 'the watch shows the change', withinMs: WAIT_MS });
        const backMs = now() - readyAt;
        assert.equal((await store.read('mine', call))?.lease, lease.id);
        return { figures: { backMs } };
      },
      [Symbol.asyncDispose]: async () => {
        over.abort();
        await watching;
        await store.close();
        await server.stop();
      },
    };
  },
};
