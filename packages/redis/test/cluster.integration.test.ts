/** A cluster of two servers, each with half of the slots. */

import { Member } from '@incumbent/core';
import { requireStore, startRedis, until, type RedisServer } from '@incumbent/test-support';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';

const SLOTS = ['0', '8191', '8192', '16383'] as const;

describe.runIf(await requireStore({ store: 'redis', own: true }))('a cluster of redis', () => {
  let servers: readonly RedisServer[] = [];

  beforeAll(async () => {
    const start = (): Promise<RedisServer> => startRedis({ flags: ['--cluster-enabled', 'yes'] });
    const [one, two] = [await start(), await start()];
    servers = [one, two];
    await one.ctl(['cluster', 'addslotsrange', SLOTS[0], SLOTS[1]]);
    await two.ctl(['cluster', 'addslotsrange', SLOTS[2], SLOTS[3]]);
    const { hostname, port } = new URL(two.url);
    await one.ctl(['cluster', 'meet', hostname, port]);
    const isWhole = async (server: RedisServer): Promise<boolean> =>
      /cluster_state:ok[^]*cluster_known_nodes:2/.test(await server.ctl(['cluster', 'info']));
    for (const server of servers) await until(() => isWhole(server), { what: 'the cluster is whole', withinMs: 30_000 });
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });

  it('keeps each namespace on the server that has its slot, whichever server is named first', async () => {
    const endpoints = servers.map(({ url }) => new URL(url).host);
    const [one] = servers;
    const slots: number[] = [];
    for (const namespace of ['a', 'b', 'c', 'team/app']) {
      slots.push(Number(await one?.ctl(['cluster', 'keyslot', `{${namespace}}`])));
      for (const order of [endpoints, endpoints.toReversed()]) {
        await using store = await openRedis({ endpoints: order, namespace });
        await using member = new Member(store, { memberId: 'm', ttlMs: 5_000 });
        const leadership = await member.election('controller', { acceptWeakStore: 'redis' }).campaign();
        await leadership.publish('here');
        await leadership.resign();
      }
    }
    // The namespaces are in both halves.
    expect(new Set(slots.map((slot) => slot < 8_192))).toEqual(new Set([true, false]));
  });

  it('needs one server only, which names the server that has the slot', async () => {
    const [one] = servers;
    const slot = async (namespace: string): Promise<number> => Number(await one?.ctl(['cluster', 'keyslot', `{${namespace}}`]));
    let namespace = 'n';
    while ((await slot(namespace)) < 8_192) namespace += 'n';
    await using store = await openRedis({ endpoints: [new URL(one?.url ?? '').host], namespace });
    expect(await store.read('nothing')).toBeUndefined();
  });

  it('is found by the settings of a client of ioredis or redis, whichever server has the slot', async () => {
    const ioredis = new Cluster(servers.map(({ url }) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) })));
    const nodeRedis = createCluster({ rootNodes: servers.map(({ url }) => ({ url })) });
    nodeRedis.on('error', () => {});
    await nodeRedis.connect();
    try {
      for (const client of [ioredis, nodeRedis]) {
        for (const namespace of ['a', 'b', 'c', 'team/app']) {
          await using store = await openRedis({ client, namespace });
          expect(await store.read('nothing')).toBeUndefined();
        }
        expect(await client.get('key')).toBeNull();
      }
    } finally {
      ioredis.disconnect();
      nodeRedis.destroy();
    }
  });
});
