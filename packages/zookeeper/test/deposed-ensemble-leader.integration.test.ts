/**
 * A leader of the ensemble that was cut off and does not know that it was deposed, and the lease of
 * a client that is connected to it. Real time: the servers' own clocks end the lease.
 */

import { systemClock, type Moment, type Store } from '@incumbent/core';
import { requireStore, startZookeeperCluster, until, type ZookeeperCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../src/index.ts';
import { momentOf } from './support/store-world.ts';

const CALL = { timeoutMs: 3_000 };
const TICK_MS = 4_000;
const TTL_MS = 2 * TICK_MS;
/** The shortest `renewEveryMs` that a member accepts. */
const RENEW_EVERY_MS = 100;
/** A member's default margin for clock errors, with a drain of 0. */
const MARGIN_MS = ((2 * 0.01) / 1.01) * TTL_MS;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Renews as core does, until the lease is over. Resolves with the time until which it was vouched
 * for.
 */
async function renewUntilOver(store: Store, lease: string, validFrom: Moment): Promise<number> {
  let vouchedUntilMs = validFrom.monotonicMs + TTL_MS;
  while (systemClock.monotonic() < vouchedUntilMs) {
    const at = momentOf(systemClock);
    // A quarter of the ttl for each call, and the next one soon after a failure.
    const renewal = await store.renewLease(lease, { timeoutMs: TTL_MS / 4, at }).catch(() => undefined);
    if (renewal !== undefined) vouchedUntilMs = Math.max(vouchedUntilMs, renewal.validFrom.monotonicMs + renewal.ttlMs);
    await pause(renewal === undefined ? TTL_MS / 20 : Math.max(RENEW_EVERY_MS - (systemClock.monotonic() - at.monotonicMs), 1));
  }
  return vouchedUntilMs;
}

/** Resolves, with the time, when a quorum answers this store. */
async function untilServed(store: Store): Promise<number> {
  for (;;) {
    await pause(50);
    const isServed = await store.read('none', { timeoutMs: 300 }).then(
      () => true,
      () => false,
    );
    if (isServed) return systemClock.monotonic();
  }
}

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a deposed leader of the ensemble', () => {
  let cluster: ZookeeperCluster;

  beforeAll(async () => {
    cluster = await startZookeeperCluster({ tickMs: TICK_MS, settings: ['syncLimit=1', 'initLimit=5'] });
  });
  afterAll(() => cluster.stop());

  it('vouches for no lease beyond the moment at which the others let it go', { timeout: 120_000 }, async () => {
    const leader = await until(() => cluster.leader(), { what: 'a leader', withinMs: 20_000 });
    const hosts = cluster.servers.map(({ url }) => new URL(url).host);
    const namespace = `deposed-${process.pid}`;
    await using deposed = await openZookeeper({ endpoints: [hosts[leader]!], namespace });
    await using others = await openZookeeper({ endpoints: hosts.filter((_, index) => index !== leader), namespace });
    const lease = await deposed.grantLease(TTL_MS, { ...CALL, at: momentOf(systemClock) });
    expect(lease.ttlMs).toBe(TTL_MS);
    await deposed.compareAndSwap([{ key: 'leader', expect: null, put: new Uint8Array([1]), lease: lease.id }], CALL);
    const renewing = renewUntilOver(deposed, lease.id, lease.validFrom);
    const watching = new AbortController();
    const states = others.watch('leader', { signal: watching.signal })[Symbol.asyncIterator]();
    expect((await states.next()).value).toBeDefined();
    await pause(Math.random() * TICK_MS);
    cluster.cutOff(leader);
    const electing = untilServed(others);
    try {
      for (let state = await states.next(); state.done !== true && state.value !== undefined;) state = await states.next();
      // A linearizable read confirms what the watch has shown.
      expect(await others.read('leader', CALL)).toBeUndefined();
      const goneAtMs = systemClock.monotonic();
      const [vouchedUntilMs, electedAtMs] = await Promise.all([renewing, electing]);
      // The next leader gives every session its whole timeout from its own start. The lease may not
      // be vouched for from any later time.
      expect(vouchedUntilMs - TTL_MS).toBeLessThanOrEqual(electedAtMs);
      expect(vouchedUntilMs - MARGIN_MS).toBeLessThanOrEqual(goneAtMs);
    } finally {
      watching.abort();
      await cluster.heal();
      await renewing;
    }
  });
});
