/** A member over the deaths of the servers that it is connected to. */

import { Member } from '@incumbent/core';
import { requireStore, startZookeeperCluster, until, type ZookeeperCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../../src/index.ts';
import { connectSocket } from '../../src/wire/socket.ts';

const ROUNDS = Number(process.env['REVIEW_RUNS'] ?? 2);

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('kill -9', () => {
  let cluster: ZookeeperCluster;
  beforeAll(async () => {
    cluster = await startZookeeperCluster();
  });
  afterAll(() => cluster.stop());

  it('of the server of a leader of an election costs no leadership', { timeout: 300_000 }, async () => {
    const live = new Map<number, number>();
    await using store = await openZookeeper({
      endpoints: cluster.servers.map(({ url }) => new URL(url).host),
      namespace: `kill-${process.pid}`,
      connect: async (endpoint, signal) => {
        const socket = await connectSocket(endpoint, undefined, signal);
        live.set(endpoint.port, (live.get(endpoint.port) ?? 0) + 1);
        socket.once('close', () => live.set(endpoint.port, (live.get(endpoint.port) ?? 0) - 1));
        return socket;
      },
    });
    await using member = new Member(store, { memberId: 'm', ttlMs: 4_000 });
    const leadership = await member.election('e').campaign();
    let least = Infinity;
    const watching = setInterval(() => (least = Math.min(least, leadership.remainingMs())), 20);
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const server of cluster.servers) {
          const leads = cluster.servers[await cluster.leader()] === server;
          const connections = live.get(Number(new URL(server.url).port)) ?? 0;
          least = Infinity;
          await server.kill();
          await pause(5_000);
          console.log(JSON.stringify({ leads, connections, least: Math.round(least), valid: leadership.isValid() }));
          expect(leadership.isValid()).toBe(true);
          await server.restart();
          await until(() => cluster.leader().then(() => true), { what: 'the ensemble', withinMs: 20_000 });
          await pause(1_500);
        }
      }
      expect(leadership.term).toBe(1n);
    } finally {
      clearInterval(watching);
    }
  });
});
