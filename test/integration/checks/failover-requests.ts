/** The requests of a failover, whatever the number of candidates. */

import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@incumbent/core';
import { Member, openStore } from 'incumbent';
import { until, ZookeeperRequests, type StoreService } from '@incumbent/test-support';
import { weakStore } from '@incumbent/test-support/weak-store';
import { openZookeeper } from '@incumbent/zookeeper';
import { counting, type Counts } from '../counting-store.ts';
import { unaryRequests } from '../etcd-metrics.ts';
import { HttpRequests } from '../http-requests.ts';
import { onServer, type Check, type Figures } from './check.ts';
import { consulHost, etcdHost, postgresHost, redisHost, zookeeperHost, type Host } from './hosts.ts';
import { kubernetesHost } from './kubernetes-host.ts';
import { ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

const CANDIDATES = [2, 100, 500];

/** Stores that are opened at the same time. */
const AT_ONCE = 20;

/**
 * Open stores that candidates use in turn, and the number of their requests without renewals and
 * pings.
 */
interface Metered {
  readonly stores: readonly Store[];
  readonly requests: () => number;
  /** Stops counting. */
  readonly stop?: () => void;
}

/** How requests are counted on one kind of store. */
interface Meter {
  readonly host: Host;
  /** The method, in words. */
  readonly how: string;
  readonly most: number;
  /** The ttl of the candidates, in ms. */
  readonly ttlMs: number;
  open(server: StoreService, namespace: string, candidates: number): Promise<Metered>;
  /** An additional figure: what the server itself counts. */
  served?(server: StoreService): Promise<number>;
}

/** For stores where each call is one request. */
const byCalls = (host: Host): Meter => ({
  host,
  how: 'They share one counted store. requests: all their calls, renewals left out, from the kill to the next one being told that it leads.',
  most: 3,
  ttlMs: 2 * TTL_MS,
  open: async (server, namespace) => {
    const counts: Counts = { requests: 0, renewals: 0 };
    return { stores: [counting(await openStore(storeUrl([server.url], namespace, host.store)), counts)], requests: () => counts.requests };
  },
});

const etcdMeter: Meter = {
  ...byCalls(etcdHost),
  how: `${byCalls(etcdHost).how} afterwards: what the server itself counted from the kill until half a second later, the new leader's own reads included.`,
  served: ({ url }) => unaryRequests(url),
};

const postgresMeter: Meter = byCalls(postgresHost);

const redisMeter: Meter = byCalls(redisHost);

const zookeeperMeter: Meter = {
  host: zookeeperHost,
  how: 'They share one store. requests: what they write to their sockets, renewals and pings left out, from the kill to the next one being told that it leads.',
  most: 3,
  ttlMs: 2 * TTL_MS,
  open: async (server, namespace) => {
    const counted = new ZookeeperRequests();
    const store = await openZookeeper({
      endpoints: [new URL(server.url).host],
      namespace,
      connect: ({ host, port }) =>
        new Promise((resolve, reject) => {
          const socket = connect({ host, port, noDelay: true }).unref();
          counted.listen(socket);
          socket.once('connect', () => resolve(socket)).once('error', reject);
        }),
    });
    return { stores: [store], requests: () => counted.total };
  },
};

const consulMeter: Meter = {
  host: consulHost,
  how:
    'Each has a store of its own, so that no watch is shared. requests: all that are sent, blocking queries included and renewals left out, from the kill to the next one being ' +
    'told that it leads.',
  most: 4,
  ttlMs: 4 * TTL_MS,
  open: async (server, namespace, candidates) => {
    const counted = new HttpRequests();
    // Watches do not repeat their request meanwhile, and no agent must manage 500 checks.
    const url = `${storeUrl([server.url], namespace, 'consul')}?watchWaitMs=600000&session=ttl`;
    const stores: Store[] = [];
    // A few at a time: opening has a deadline, and no real cluster opens 500 stores at once.
    while (stores.length < candidates)
      stores.push(...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, candidates - stores.length) }, () => openStore(url)))));
    return { stores, requests: () => counted.sent.length, stop: () => counted[Symbol.dispose]() };
  },
};

const kubernetesMeter: Meter = {
  host: kubernetesHost,
  how:
    'They share one store. requests: all that are sent to the API server, watches included and renewals left out, from the kill to the next one being told that it leads. They ' +
    'include the end of the lease, which the store itself brings about.',
  most: 9,
  ttlMs: 4 * TTL_MS,
  open: async (server, namespace) => {
    const counted = new HttpRequests();
    // Watches do not begin anew meanwhile.
    const store = await openStore(`${storeUrl([server.url], namespace, 'kubernetes')}&watchMs=600000`);
    return { stores: [store], requests: () => counted.sent.length, stop: () => counted[Symbol.dispose]() };
  },
};

const failoverRequests = ({ host, how, most, ttlMs, open, served }: Meter): Check => ({
  name: `${host.prefix}failover-requests`,
  claim: `On ${host.store} a failover takes at most ${most} requests at 2, 100 and 500 candidates (first come first served).`,
  method: `A leader in a process of its own is killed (SIGKILL); the other candidates are a Member each. ${how}`,
  runs: 3,
  parallel: 1,
  open: onServer(
    () => host.start(),
    async (server, _context, index) => {
      const candidates = CANDIDATES[index % CANDIDATES.length] ?? 2;
      const namespace = freshNamespace();
      await using leader = await spawnMember(storeUrl([server.url], namespace, host.store), 'leader');
      await leader.waitFor('elected', { withinMs: WAIT_MS });
      await using opened = new AsyncDisposableStack();
      const { stores, requests, stop } = await open(server, namespace, candidates);
      opened.defer(() => stop?.());
      opened.defer(async () => void (await Promise.all(stores.map((store) => store.close()))));
      const members = Array.from({ length: candidates }, (_, i) => {
        const store = stores[i % stores.length];
        assert.ok(store !== undefined);
        return { member: new Member(store, { memberId: `c${i}`, ttlMs }), options: weakStore(store) };
      });
      opened.defer(async () => void (await Promise.all(members.map(({ member }) => member.close()))));
      // One of them only observes.
      const [watcher, ...others] = members.map(({ member, options }) => ({ member, election: member.election(ELECTION, options) }));
      for (const { election } of others) void election.campaign().catch(() => {});
      await until(async () => (await watcher?.election.candidates())?.length === candidates, {
        what: 'all are in the queue',
        withinMs: 4 * WAIT_MS,
      });
      await quiet(requests);
      const [asked, servedBefore] = [requests(), await served?.(server)];
      let cost: number | undefined;
      const elected = (): void => {
        cost ??= requests() - asked;
      };
      diagnosticsChannel.subscribe('incumbent:elected', elected);
      leader.sigkill();
      await until(() => cost !== undefined, { what: 'a new leader', withinMs: WAIT_MS });
      diagnosticsChannel.unsubscribe('incumbent:elected', elected);
      await sleep(500);
      const figures: Figures = { candidates, requests: cost ?? Number.NaN };
      const servedAfter = await served?.(server);
      assert.ok(cost !== undefined && cost <= most, `${cost} requests at ${candidates} candidates`);
      return { figures: servedAfter === undefined ? figures : { ...figures, afterwards: servedAfter - (servedBefore ?? 0) } };
    },
  ),
});

/** Waits until only renewals have been requested for a while. */
async function quiet(requests: () => number): Promise<void> {
  let last = -1;
  while (last !== requests()) {
    last = requests();
    await sleep(1_000);
  }
}

export const etcdFailoverRequests: Check = failoverRequests(etcdMeter);
export const zookeeperFailoverRequests: Check = failoverRequests(zookeeperMeter);
export const consulFailoverRequests: Check = failoverRequests(consulMeter);
export const kubernetesFailoverRequests: Check = failoverRequests(kubernetesMeter);
export const redisFailoverRequests: Check = failoverRequests(redisMeter);
export const postgresFailoverRequests: Check = failoverRequests(postgresMeter);
