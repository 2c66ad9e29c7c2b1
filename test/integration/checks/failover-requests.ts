/** What a failover costs the store, however many candidates there are. */

import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@incumbent/core';
import { Member, openStore } from 'incumbent';
import { until, ZookeeperRequests, type StoreService } from '@incumbent/test-support';
import { openZookeeper } from '@incumbent/zookeeper';
import { counting, type Counts } from '../counting-store.ts';
import { unaryRequests } from '../etcd-metrics.ts';
import type { Check, Figures } from './check.ts';
import { etcdHost, zookeeperHost, type Host } from './hosts.ts';
import { ELECTION, freshNamespace, PATIENCE_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

const CANDIDATES = [2, 100, 500];

/** An open store, and how many requests have been made by it, renewals and pings left out. */
interface Metered {
  readonly store: Store;
  readonly requests: () => number;
}

/** How requests are counted on one kind of store. */
interface Meter {
  readonly host: Host;
  /** In words. */
  readonly how: string;
  open(server: StoreService, namespace: string): Promise<Metered>;
  /** What the server itself counts, for a figure besides. */
  served?(server: StoreService): Promise<number>;
}

const etcdMeter: Meter = {
  host: etcdHost,
  how:
    'requests: all their calls, renewals left out, from the kill to the next one being told that it leads. afterwards: what the server itself counted from the kill ' +
    "until half a second later, the new leader's own reads included.",
  open: async (server, namespace) => {
    const counts: Counts = { requests: 0, renewals: 0 };
    return { store: counting(await openStore(storeUrl([server.url], namespace)), counts), requests: () => counts.requests };
  },
  served: ({ url }) => unaryRequests(url),
};

const zookeeperMeter: Meter = {
  host: zookeeperHost,
  how: 'requests: what they write to their sockets, renewals and pings left out, from the kill to the next one being told that it leads.',
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
    return { store, requests: () => counted.total };
  },
};

const failoverRequests = ({ host, how, open, served }: Meter): Check => ({
  name: `${host.prefix}failover-requests`,
  claim: `On ${host.store} a failover takes at most 3 requests at 2, 100 and 500 candidates (first come first served).`,
  method: `A leader in a process of its own is killed (SIGKILL); the other candidates, a Member each, share one counted store. ${how}`,
  runs: 3,
  parallel: 1,
  open: async () => {
    const server = await host.start();
    return {
      run: async (index) => {
        const candidates = CANDIDATES[index % CANDIDATES.length] ?? 2;
        const namespace = freshNamespace();
        await using leader = await spawnMember(storeUrl([server.url], namespace), 'leader');
        await leader.waitFor('elected', { withinMs: PATIENCE_MS });
        const { store, requests } = await open(server, namespace);
        const members = Array.from({ length: candidates - 1 }, (_, i) => new Member(store, { memberId: `c${i}`, ttlMs: 2 * TTL_MS }));
        for (const member of members)
          void member
            .election(ELECTION)
            .campaign()
            .catch(() => {});
        const watcher = new Member(store, { memberId: 'watcher' });
        const queue = watcher.election(ELECTION);
        await until(async () => (await queue.candidates()).length === candidates, { what: 'all are in the queue', withinMs: PATIENCE_MS });
        await quiet(requests);
        const [asked, servedBefore] = [requests(), await served?.(server)];
        let cost: number | undefined;
        const elected = (): void => {
          cost ??= requests() - asked;
        };
        diagnosticsChannel.subscribe('incumbent:elected', elected);
        leader.sigkill();
        await until(() => cost !== undefined, { what: 'a new leader', withinMs: PATIENCE_MS });
        diagnosticsChannel.unsubscribe('incumbent:elected', elected);
        await sleep(500);
        const figures: Figures = { candidates, requests: cost ?? Number.NaN };
        const servedAfter = await served?.(server);
        await Promise.all(members.map((member) => member.close()));
        await watcher.close();
        await store.close();
        assert.ok(cost !== undefined && cost <= 3, `${cost} requests at ${candidates} candidates`);
        return { figures: servedAfter === undefined ? figures : { ...figures, afterwards: servedAfter - (servedBefore ?? 0) } };
      },
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },
});

/** Waits until nothing but renewals has been asked for a while. */
async function quiet(requests: () => number): Promise<void> {
  let last = -1;
  while (last !== requests()) {
    last = requests();
    await sleep(1_000);
  }
}

export const etcdFailoverRequests: Check = failoverRequests(etcdMeter);
export const zookeeperFailoverRequests: Check = failoverRequests(zookeeperMeter);
