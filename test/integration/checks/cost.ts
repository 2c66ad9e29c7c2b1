/** What elections cost the store. */

import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Member, openStore } from 'incumbent';
import { spawnScript, startEtcd, until } from '@incumbent/test-support';
import { counting, type Counts } from '../counting-store.ts';
import { unaryRequests } from '../etcd-metrics.ts';
import { now } from '../history.ts';
import type { Check } from './check.ts';
import type { CountingHost } from './hosts.ts';
import { at, ELECTION, freshNamespace, PATIENCE_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

const MANY = new URL('../many.ts', import.meta.url);
const CANDIDATES = [2, 100, 500];

export const failoverRequests = (host: CountingHost): Check => ({
  name: `${host.prefix}failover-requests`,
  claim: 'A failover takes at most 3 requests at 2, 100 and 500 candidates (first come first served).',
  method:
    'A leader in a process of its own is killed (SIGKILL); the other candidates, a Member each, share one counted store. requests: all their calls, renewals left out, ' +
    'from the kill to the next one being told that it leads. afterwards: what the server itself counted from the kill until half a second later, ' +
    "the new leader's own reads included.",
  runs: 3,
  parallel: 1,
  open: async () => {
    const server = await host.start();
    return {
      run: async (index) => {
        const candidates = CANDIDATES[index % CANDIDATES.length] ?? 2;
        const namespace = freshNamespace();
        const url = storeUrl([server.url], namespace);
        await using leader = await spawnMember(url, 'leader');
        await leader.waitFor('elected', { withinMs: PATIENCE_MS });
        const counts: Counts = { requests: 0, renewals: 0 };
        const store = counting(await openStore(url), counts);
        let requests: number | undefined;
        const members: Member[] = [];
        for (let i = 1; i < candidates; i += 1) {
          const member = new Member(store, { memberId: `c${i}`, ttlMs: 4 * TTL_MS });
          members.push(member);
          const election = member.election(ELECTION, { acceptWeakStore: store.name });
          election.campaign().catch(() => {});
        }
        const watcher = new Member(store, { memberId: 'watcher' });
        const queue = watcher.election(ELECTION, { acceptWeakStore: store.name });
        await until(async () => (await queue.candidates()).length === candidates, { what: 'all are in the queue', withinMs: PATIENCE_MS });
        await quiet(counts);
        const before = await host.requests(server);
        counts.requests = 0;
        const elected = (): void => {
          requests ??= counts.requests;
        };
        diagnosticsChannel.subscribe('incumbent:elected', elected);
        leader.sigkill();
        await until(() => requests !== undefined, { what: 'a new leader', withinMs: PATIENCE_MS });
        diagnosticsChannel.unsubscribe('incumbent:elected', elected);
        await sleep(500);
        const afterwards = (await host.requests(server)) - before;
        await Promise.all(members.map((member) => member.close()));
        await watcher.close();
        await store.close();
        assert.ok(requests !== undefined && requests <= 3, `${requests} requests at ${candidates} candidates`);
        return { figures: { candidates, requests, afterwards } };
      },
      [Symbol.asyncDispose]: async () => server.stop(),
    };
  },
});

/** Waits until nothing but renewals has been asked for a while. */
async function quiet(counts: Counts): Promise<void> {
  let last = -1;
  while (last !== counts.requests) {
    last = counts.requests;
    await sleep(1_000);
  }
}

export const idle: Check = {
  name: 'idle',
  claim: 'A process that leads 1,000 elections makes under 1 request per second when idle, on one lease.',
  method:
    'One process leads 1,000 elections on one etcd. For 20 s, from 3 s after the last was won: requests as the server counts them, and its leases.',
  runs: 1,
  parallel: 1,
  open: async () => {
    const etcd = await startEtcd();
    return {
      run: async () => {
        const namespace = freshNamespace();
        await using many = await spawnScript(MANY, { args: [storeUrl([etcd.url], namespace), 'many', '10000', '1000'] });
        await many.waitFor('allLed', { withinMs: 2 * PATIENCE_MS });
        await sleep(3_000);
        const [before, renewalsBefore] = [await unaryRequests(etcd.url), await renewals(etcd.url)];
        await sleep(20_000);
        const perSecond = ((await unaryRequests(etcd.url)) - before + (await renewals(etcd.url)) - renewalsBefore) / 20;
        const leases = (await etcd.ctl(['lease', 'list'])).trim().split('\n').length - 1;
        assert.ok(perSecond < 1, `${perSecond} requests per second`);
        assert.equal(leases, 1);
        return { figures: { perSecond, leases } };
      },
      [Symbol.asyncDispose]: async () => etcd.stop(),
    };
  },
};

async function renewals(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^grpc_server_msg_received_total\{.*grpc_method="LeaseKeepAlive".*\} (\S+)$/m.exec(text)?.[1] ?? 0);
}

export const massLoss: Check = {
  name: 'mass-loss',
  claim: 'When 1,000 elections of one member lose their session at once, all lead again within ttl + 5 s, and none is lost a second time.',
  method: `One process leads 1,000 elections, ttl ${TTL_MS} ms; its lease is revoked with etcdctl. again: until it leads all of them; then it is watched for another 2 ttl.`,
  runs: 3,
  parallel: 1,
  open: async () => {
    const etcd = await startEtcd();
    return {
      run: async () => {
        const namespace = freshNamespace();
        await using many = await spawnScript(MANY, { args: [storeUrl([etcd.url], namespace), 'many', String(TTL_MS), '1000'] });
        await many.waitFor('allLed', { withinMs: 2 * PATIENCE_MS });
        const leases = (await etcd.ctl(['lease', 'list'])).trim().split('\n').slice(1);
        const from = many.events.length;
        const revokedAt = now();
        for (const lease of leases) await etcd.ctl(['lease', 'revoke', lease]);
        const again = await many.waitFor('allLed', { withinMs: 2 * PATIENCE_MS, from });
        const againMs = at(again) - revokedAt;
        await sleep(2 * TTL_MS);
        const losses = many.events.slice(from).filter(({ event }) => event === 'lost').length;
        assert.ok(againMs <= TTL_MS + 5_000, `it took ${againMs} ms`);
        assert.equal(losses, 1_000);
        return { figures: { againMs, losses } };
      },
      [Symbol.asyncDispose]: async () => etcd.stop(),
    };
  },
};
