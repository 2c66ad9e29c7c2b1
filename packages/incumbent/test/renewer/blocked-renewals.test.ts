import { describe, expect, it } from 'vitest';

import { type Moment, type Renewal, StoreError } from '@incumbent/core';

import { BlockedRenewals } from '../../src/renewer/blocked-renewals.ts';
import { SharedLease } from '../../src/renewer/shared-lease.ts';

const RULES = { blockedAfterMs: 1_500, maxBlockedMs: 30_000, retryEveryMs: 500, callTimeoutMs: 2_500 };
const RENEW_EVERY_MS = 3_000;
const CHECK_EVERY_MS = 500;

/** One lease, a worker that checks every half second, and a main thread that may be blocked. */
class Scene {
  nowMs = 1_000;
  readonly shared = new SharedLease();
  readonly sentAt: number[] = [];
  answer: (at: Moment) => Promise<Renewal> = async (at) => ({ ttlMs: 10_000, validFrom: at });
  readonly renewals = new BlockedRenewals(
    (_, { at }) => {
      this.sentAt.push(this.nowMs);
      return this.answer(at);
    },
    RULES,
    { now: () => this.nowMs, wall: () => this.nowMs + 1e12 },
  );

  constructor() {
    this.shared.beat(this.nowMs);
    this.shared.renewed(this.nowMs);
    this.renewals.add({ ticket: 't', renewEveryMs: RENEW_EVERY_MS, shared: this.shared });
  }

  async pass(ms: number, { blocked }: { readonly blocked: boolean }): Promise<void> {
    for (const until = this.nowMs + ms; this.nowMs < until;) {
      this.nowMs += CHECK_EVERY_MS;
      if (!blocked) this.shared.beat(this.nowMs);
      this.renewals.check();
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
  }
}

describe('the renewals of the worker', () => {
  it('are none while the event loop runs', async () => {
    const scene = new Scene();
    await scene.pass(60_000, { blocked: false });
    expect(scene.sentAt).toEqual([]);
  });

  it('come as often as those of the main thread while the event loop is blocked', async () => {
    const scene = new Scene();
    await scene.pass(10_000, { blocked: true });
    expect(scene.sentAt).toEqual([4_000, 7_000, 10_000]);
    expect(scene.shared.latest()).toEqual({ atMs: 10_000, wallMs: 1e12 + 10_000, ttlMs: 10_000 });
    await scene.pass(10_000, { blocked: false });
    expect(scene.sentAt).toHaveLength(3);
  });

  it('count from the earlier moment that the store names, and come no more often', async () => {
    const scene = new Scene();
    scene.answer = async ({ monotonicMs, wallMs }) => ({
      ttlMs: 10_000,
      validFrom: { monotonicMs: monotonicMs - 2_500, wallMs: wallMs - 2_500 },
    });
    await scene.pass(10_000, { blocked: true });
    expect(scene.sentAt).toEqual([4_000, 7_000, 10_000]);
    expect(scene.shared.latest()).toEqual({ atMs: 7_500, wallMs: 1e12 + 7_500, ttlMs: 10_000 });
  });

  it('never count from a later moment than their own', async () => {
    const scene = new Scene();
    scene.answer = async ({ monotonicMs, wallMs }) => ({
      ttlMs: 10_000,
      validFrom: { monotonicMs: monotonicMs + 50, wallMs: wallMs + 50 },
    });
    await scene.pass(3_500, { blocked: true });
    expect(scene.shared.latest()).toEqual({ atMs: 4_000, wallMs: 1e12 + 4_000, ttlMs: 10_000 });
  });

  it('end when the block has lasted for maxBlockedMs', async () => {
    const scene = new Scene();
    await scene.pass(120_000, { blocked: true });
    expect(scene.sentAt.at(-1)).toBeLessThanOrEqual(1_000 + RULES.maxBlockedMs);
    expect(scene.sentAt).toHaveLength(10);
  });

  it('are repeated soon after a failure, and count only when they are acknowledged', async () => {
    const scene = new Scene();
    scene.answer = async () => {
      throw new StoreError('TIMEOUT', 'unknown', 'no answer');
    };
    await scene.pass(4_000, { blocked: true });
    expect([scene.sentAt, scene.shared.latest()]).toEqual([[4_000, 4_500, 5_000], undefined]);
  });

  it('wait for the answer to the one before', async () => {
    const scene = new Scene();
    scene.answer = () => new Promise(() => {});
    await scene.pass(20_000, { blocked: true });
    expect(scene.sentAt).toEqual([4_000]);
  });

  it('end when the store says that the lease is gone, and when the session has ended', async () => {
    const [gone, over] = [new Scene(), new Scene()];
    gone.answer = async () => {
      throw new StoreError('LEASE_EXPIRED', 'refused', 'gone');
    };
    over.shared.end();
    for (const scene of [gone, over]) await scene.pass(20_000, { blocked: true });
    expect([gone.sentAt, over.sentAt]).toEqual([[4_000], []]);
    expect(gone.shared.latest()).toBeUndefined();
  });
});
