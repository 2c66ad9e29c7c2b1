/** A leader of the ensemble that was deposed and does not know it, and the lease of a client that is connected to it. */

import { systemClock, type Moment } from '@incumbent/core';
import { requireStore, startZookeeperCluster, until, type ZookeeperCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../src/index.ts';

const CALL = { timeoutMs: 3_000 };
const TICK_MS = 4_000;
const TTL_MS = 2 * TICK_MS;
/** As `renewEveryMs` may be. */
const RENEW_EVERY_MS = 100;
/** What a member takes off by default for clocks, its drain set to 0. */
const MARGIN_MS = ((2 * 0.01) / 1.01) * TTL_MS;
const RUNS = Number(process.env['REVIEW_RUNS'] ?? 1);

function now(): Moment {
  return { monotonicMs: systemClock.monotonic(), wallMs: systemClock.wall() };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a deposed leader of the ensemble', () => {
  let cluster: ZookeeperCluster;
  let electedAtMs: number | undefined;

  beforeAll(async () => {
    cluster = await startZookeeperCluster({ tickMs: TICK_MS, settings: ['syncLimit=1', 'initLimit=5'] });
  });
  afterAll(() => cluster.stop());

  async function onceCut(
    run: number,
  ): Promise<{ overlapMs: number; acked: number; goneMs: number; electedMs: number; barrier: number; fromMs: number }> {
    const leader = await until(() => cluster.leader(), { what: 'a leader', withinMs: 20_000 });
    const hosts = cluster.servers.map(({ url }) => new URL(url).host);
    const namespace = `deposed-${process.pid}-${run}`;
    await using a = await openZookeeper({ endpoints: [hosts[leader]!], namespace });
    await using b = await openZookeeper({ endpoints: hosts.filter((_, index) => index !== leader), namespace });
    const lease = await a.grantLease(TTL_MS, { ...CALL, at: now() });
    expect(lease.ttlMs).toBe(TTL_MS);
    await a.compareAndSwap([{ key: 'leader', expect: null, put: new Uint8Array([1]), lease: lease.id }], CALL);
    let vouchedUntilMs = lease.validFrom.monotonicMs + lease.ttlMs;
    let lastAckMs = 0;
    const stop = new AbortController();
    const renewing = (async () => {
      // Each call a quarter at most, as core has it, and again soon after one that failed.
      while (!stop.signal.aborted && systemClock.monotonic() < vouchedUntilMs) {
        const at = now();
        const renewal = await a.renewLease(lease.id, { timeoutMs: TTL_MS / 4, at }).catch(() => undefined);
        if (renewal !== undefined) {
          lastAckMs = at.monotonicMs;
          vouchedUntilMs = Math.max(vouchedUntilMs, renewal.validFrom.monotonicMs + renewal.ttlMs);
        }
        await pause(renewal === undefined ? TTL_MS / 20 : Math.max(RENEW_EVERY_MS - (systemClock.monotonic() - at.monotonicMs), 1));
      }
    })();
    // What a quorum agrees to, by the same server: for comparison.
    let lastBarrierMs = 0;
    const asking = (async () => {
      while (!stop.signal.aborted) {
        const sentAtMs = systemClock.monotonic();
        if (
          await a.read('none', { timeoutMs: 300 }).then(
            () => true,
            () => false,
          )
        )
          lastBarrierMs = sentAtMs;
        await pause(RENEW_EVERY_MS);
      }
    })();
    const watching = new AbortController();
    const states = b.watch('leader', { signal: watching.signal })[Symbol.asyncIterator]();
    expect((await states.next()).value).toBeDefined();
    // Just after a full tick of the leader, which counts from its election, where that is known.
    const phase =
      electedAtMs === undefined ? Math.random() * TICK_MS : TICK_MS - ((systemClock.monotonic() - electedAtMs) % TICK_MS) + TICK_MS / 8;
    await pause(phase);
    const cutAtMs = systemClock.monotonic();
    cluster.cutOff(leader);
    const electing = (async () => {
      for (;;) {
        await pause(50);
        if (
          await b.read('none', { timeoutMs: 300 }).then(
            () => true,
            () => false,
          )
        )
          break;
      }
      electedAtMs = systemClock.monotonic();
    })();
    try {
      for (;;) {
        const state = await states.next();
        if (state.done === true || state.value === undefined) break;
      }
      // Linearizable, so that it is not the watch that is wrong.
      expect(await b.read('leader', CALL)).toBeUndefined();
      const goneAtMs = systemClock.monotonic();
      await Promise.all([renewing, electing]);
      stop.abort();
      await asking;
      const electedMs = Math.round((electedAtMs ?? 0) - cutAtMs);
      return {
        overlapMs: Math.round(vouchedUntilMs - MARGIN_MS - goneAtMs),
        acked: Math.round(lastAckMs - cutAtMs),
        goneMs: Math.round(goneAtMs - cutAtMs),
        electedMs,
        barrier: Math.round(lastBarrierMs - cutAtMs),
        fromMs: Math.round(vouchedUntilMs - TTL_MS - cutAtMs),
      };
    } finally {
      stop.abort();
      watching.abort();
      await cluster.heal();
      await renewing;
    }
  }

  it('vouches for no lease beyond the moment at which the others let it go', { timeout: 600_000 }, async () => {
    const overlaps: number[] = [];
    const ahead: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const seen = await onceCut(run);
      console.log(JSON.stringify(seen));
      overlaps.push(seen.overlapMs);
      ahead.push(seen.fromMs - seen.electedMs);
      await pause(3_000);
      await until(async () => (await cluster.leader()) !== undefined, {
        what: 'the ensemble',
        withinMs: 20_000,
      });
    }
    // The next leader gives every session its whole time from its own beginning on: nothing may be vouched for from later than that.
    expect(Math.max(...ahead)).toBeLessThanOrEqual(0);
    // By luck: the end of a session is put off to the next full tick.
    expect(Math.max(...overlaps)).toBeLessThanOrEqual(0);
  });
});
