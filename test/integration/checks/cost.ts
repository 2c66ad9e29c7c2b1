/** The load that elections put on the store. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcd, until, type ScriptProcess } from '@incumbent/test-support';
import { unaryRequests } from '../etcd-metrics.ts';
import { now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { at, freshNamespace, WAIT_MS, spawnMany, storeUrl, TTL_MS } from './pair.ts';

export const idle: Check = {
  name: 'idle',
  claim: 'A process that leads 1,000 elections makes under 1 request per second when idle, on one lease.',
  method:
    'One process leads 1,000 elections on one etcd. For 20 s, from 3 s after the last was won: requests as the server counts them, and its leases.',
  runs: 1,
  parallel: 1,
  open: onServer(
    () => startEtcd(),
    async (etcd) => {
      await using many = await spawnMany(storeUrl([etcd.url], freshNamespace()), { ttlMs: 10_000 });
      await many.waitFor('allLed', { withinMs: 2 * WAIT_MS });
      await sleep(3_000);
      const [before, renewalsBefore] = [await unaryRequests(etcd.url), await renewals(etcd.url)];
      await sleep(20_000);
      const perSecond = ((await unaryRequests(etcd.url)) - before + (await renewals(etcd.url)) - renewalsBefore) / 20;
      const leases = (await etcd.ctl(['lease', 'list'])).trim().split('\n').length - 1;
      assert.ok(perSecond < 1, `${perSecond} requests per second`);
      assert.equal(leases, 1);
      return { figures: { perSecond, leases } };
    },
  ),
};

async function renewals(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^grpc_server_msg_received_total\{.*grpc_method="LeaseKeepAlive".*\} (\S+)$/m.exec(text)?.[1] ?? 0);
}

/** On a busy machine a process may lose its session while it still joins its elections. */
async function settled(many: ScriptProcess): Promise<void> {
  const losses = (): number => many.events.filter(({ event }) => event === 'lost').length;
  const isQuiet = async (): Promise<boolean> => {
    const before = losses();
    await sleep(TTL_MS);
    return losses() === before;
  };
  await until(isQuiet, { what: 'it loses nothing for a ttl', withinMs: 2 * WAIT_MS });
}

export const massLoss: Check = {
  name: 'mass-loss',
  claim: 'When 1,000 elections of one member lose their session at once, all lead again within ttl + 5 s, and none is lost a second time.',
  method: `One process leads 1,000 elections, ttl ${TTL_MS} ms; its lease is revoked with etcdctl. again: until it leads all of them; then it is watched for another 2 ttl.`,
  runs: 3,
  parallel: 1,
  open: onServer(
    () => startEtcd(),
    async (etcd, { isTimed }) => {
      await using many = await spawnMany(storeUrl([etcd.url], freshNamespace()), { ttlMs: TTL_MS });
      await many.waitFor('allLed', { withinMs: 2 * WAIT_MS });
      await settled(many);
      const from = many.events.length;
      const leases = (await etcd.ctl(['lease', 'list'])).trim().split('\n').slice(1);
      const revokedAt = now();
      for (const lease of leases) await etcd.ctl(['lease', 'revoke', lease]);
      const again = await many.waitFor('allLed', { withinMs: 2 * WAIT_MS, from });
      const againMs = at(again) - revokedAt;
      await sleep(2 * TTL_MS);
      const losses = many.events.slice(from).filter(({ event }) => event === 'lost').length;
      assert.ok(!isTimed || againMs <= TTL_MS + 5_000, `it took ${againMs} ms`);
      assert.equal(losses, 1_000);
      return { figures: { againMs, losses } };
    },
  ),
};
