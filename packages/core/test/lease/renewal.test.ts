import { describe, expect, it } from 'vitest';
import { momentOf } from '../../src/base/clock.ts';
import { StoreError, type Renewal } from '../../src/index.ts';
import { LeaseSession } from '../../src/lease/session.ts';
import { PausableClock } from '../../src/testing.ts';
import { always } from '../support/random.ts';
import { VALID_MS, SessionScene, unanswered } from '../support/session.ts';
import { track } from '../support/track.ts';
import type { World } from '../support/world.ts';

const timeout = new StoreError('TIMEOUT', 'unknown', 'no answer');
const expired = new StoreError('LEASE_EXPIRED', 'refused', 'gone');

describe('renewal', () => {
  it('comes every third of the ttl, counted from the sending of the last', async () => {
    const scene = new SessionScene();
    scene.answer = async ({ options }) => {
      await new Promise<void>((resolve) => {
        scene.world.clock.schedule(700, resolve);
      });
      return { ttlMs: 10_000, validFrom: options.at };
    };
    await scene.pass(20_100);
    expect(scene.sentAt).toEqual([3_333, 6_667, 10_000, 13_333, 16_667, 20_000]);
  });

  it('comes first when it is due from the moment that the grant is valid from, however long that took', async () => {
    const scene = new SessionScene({ grantTookMs: 2_000 });
    await scene.pass(10_000 / 3);
    expect(scene.sentAt).toEqual([1_333]);
  });

  it('is in flight once at a time, and a slow one is not overtaken', async () => {
    const scene = new SessionScene();
    let inFlight = 0;
    let most = 0;
    scene.answer = async ({ options }) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise<void>((resolve) => {
        scene.world.clock.schedule(2_499, resolve);
      });
      inFlight -= 1;
      return { ttlMs: 10_000, validFrom: options.at };
    };
    await scene.pass(100_000);
    expect([scene.session.isValid(), most]).toEqual([true, 1]);
    expect(scene.renewals.length).toBeGreaterThan(25);
  });

  it('is tried again until the deadline while its outcome is unknown', async () => {
    const scene = new SessionScene();
    scene.answer = async () => Promise.reject(timeout);
    await scene.pass(VALID_MS + 1);
    expect(scene.session.ended?.reason).toBe('deadline');
    expect(scene.sentAt.slice(0, 4)).toEqual([3_333, 3_833, 4_333, 4_833]);
    expect(scene.sentAt.at(-1)).toBeGreaterThan(VALID_MS - 510);
    const tries = scene.renewals.length;
    await scene.pass(60_000);
    expect(scene.renewals.length).toBe(tries);
  });

  it('is tried again after an error that stays, too: the deadline decides, not the error', async () => {
    const scene = new SessionScene();
    scene.answer = async () => Promise.reject(new StoreError('PERMISSION_DENIED', 'refused', 'no'));
    await scene.pass(6_000);
    scene.answer = async ({ options }) => ({ ttlMs: 10_000, validFrom: options.at });
    await scene.pass(60_000);
    expect(scene.session.isValid()).toBe(true);
  });

  it('is spread by a quarter of the wait, either way', async () => {
    const waits = await Promise.all(
      [0, 1].map(async (part) => {
        const scene = new SessionScene({ random: always(part) });
        scene.answer = async () => Promise.reject(timeout);
        await scene.pass(5_000);
        return Math.round((scene.renewals[1]?.at ?? 0) - (scene.renewals[0]?.at ?? 0));
      }),
    );
    expect(waits).toEqual([375, 625]);
  });

  it('leaves each call no more time than there is until the deadline', async () => {
    const scene = new SessionScene();
    scene.answer = async () => Promise.reject(timeout);
    await scene.pass(VALID_MS);
    for (const { options, at } of scene.renewals)
      expect(options.timeoutMs).toBeLessThanOrEqual(Math.ceil(Math.max(VALID_MS - at, 1) + 1e-6));
    expect(scene.renewals[0]?.options.timeoutMs).toBe(2_500);
    expect(scene.renewals.at(-1)?.options.timeoutMs).toBeLessThan(510);
  });

  it('that hangs for ever, against the contract, ends nothing before the deadline and nothing but validity at it', async () => {
    const scene = unanswered();
    await scene.pass(8_000);
    expect(scene.session.isValid()).toBe(true);
    await scene.pass(1_000);
    expect(scene.session.ended?.reason).toBe('deadline');
    expect([scene.world.clock.timers, scene.renewals.length]).toEqual([0, 1]);
  });

  it('that says that the lease is gone ends it at once', async () => {
    const scene = new SessionScene();
    scene.answer = async () => Promise.reject(expired);
    await scene.pass(3_334);
    expect(scene.ends).toMatchObject([{ reason: 'leaseExpired', errors: [expired] }]);
    await scene.pass(60_000);
    expect([scene.renewals.length, scene.world.clock.timers]).toEqual([1, 0]);
  });

  it('comes more often where the store has granted less than was asked', async () => {
    const scene = new SessionScene({ grantedMs: 6_000 });
    await scene.pass(10_100);
    expect(scene.sentAt).toEqual([2_000, 4_000, 6_000, 8_000, 10_000]);
    expect(scene.session.remainingMs()).toBeCloseTo(6_000 - (0.02 / 1.01) * 6_000 - 1_000 - 100, 3);
  });

  it('comes no less often where the store has granted more', async () => {
    const scene = new SessionScene({ grantedMs: 60_000 });
    await scene.pass(10_100);
    expect(scene.sentAt).toEqual([3_333, 6_667, 10_000]);
  });

  it('follows a grant that changes', async () => {
    const scene = new SessionScene();
    scene.answer = async ({ options }) => ({ ttlMs: 5_000, validFrom: options.at });
    await scene.pass(10_000);
    expect(scene.sentAt).toEqual([3_333, 5_000, 6_667, 8_333, 10_000]);
  });

  it('has a second try before the deadline, with the tightest timing that is taken', async () => {
    const scene = new SessionScene({ renewEveryMs: 5_600, callTimeoutMs: 2_500, retryEveryMs: 560, random: always(1) });
    scene.answer = async () => {
      await new Promise<void>((resolve) => {
        scene.world.clock.schedule(2_500, resolve);
      });
      throw timeout;
    };
    await scene.pass(20_000);
    expect(scene.renewals.length).toBe(2);
  });
});

/** A session in the scene's place, whose process can be stopped. */
function blockable({ context, session: former, world }: SessionScene): {
  readonly clock: PausableClock;
  readonly session: LeaseSession;
  readonly world: World;
} {
  former.end('memberClosed');
  const clock = new PausableClock(world.clock);
  const session = new LeaseSession({ ...context, clock }, { id: 'l', ttlMs: 10_000, validFrom: momentOf(clock) });
  session.start();
  return { clock, session, world };
}

describe('what a session reports', () => {
  it('is suspect from the first failed renewal on, and recovered by the next that succeeds', async () => {
    const scene = new SessionScene();
    const good = scene.answer;
    scene.answer = async () => Promise.reject(timeout);
    expect(scene.session.suspect).toBe(false);
    await scene.pass(4_000);
    expect(scene.session.suspect).toBe(true);
    expect(scene.world.events.about('overdue')).toMatchObject([{ lease: 'lease-1', err: timeout }]);
    scene.answer = good;
    await scene.pass(1_000);
    expect(scene.session.suspect).toBe(false);
    expect(scene.world.events.about('acknowledged again').length).toBe(1);
  });

  it('is suspect as soon as a renewal that hangs is overdue', async () => {
    const { session, world } = unanswered();
    await world.pass(10_000 / 3 + 2_500);
    expect(session.suspect).toBe(false);
    await world.pass(1);
    expect([session.suspect, session.isValid()]).toEqual([true, true]);
  });

  it('is not suspect between renewals that each count from the one before, and survives one that hangs', async () => {
    const scene = new SessionScene({ renewalLag: 0.25 });
    const { session } = scene;
    let before = scene.world.clock.monotonic();
    scene.answer = ({ options: { at } }) => {
      const validFrom = { monotonicMs: before, wallMs: at.wallMs - (at.monotonicMs - before) };
      before = at.monotonicMs;
      return Promise.resolve({ ttlMs: 10_000, validFrom });
    };
    const suspected: boolean[] = [];
    for (let i = 0; i < 300; i += 1) {
      await scene.pass(100);
      suspected.push(session.suspect);
    }
    expect(suspected).not.toContain(true);
    const { answer } = scene;
    // The moment at which this one is due, and the longest that it may take.
    scene.answer = ({ options }) => {
      scene.answer = answer;
      return new Promise((_, reject) =>
        scene.world.clock.schedule(options.timeoutMs, () => reject(new StoreError('TIMEOUT', 'unknown', 'no answer'))),
      );
    };
    await scene.pass(30_000);
    expect([session.isValid(), session.suspect]).toEqual([true, false]);
  });

  it('is not suspect once it has ended', async () => {
    const { session, world } = unanswered();
    await world.pass(9_000);
    expect(session.suspect).toBe(false);
  });

  it('explains its end: the last renewal, the errors since then, the latest eight', async () => {
    const scene = new SessionScene();
    await scene.pass(3_400);
    const renewedAt = scene.world.clock.wall() - (3_400 - 10_000 / 3);
    const errors: StoreError[] = [];
    scene.answer = async () => {
      const error = new StoreError('TIMEOUT', 'unknown', `try ${errors.length}`);
      errors.push(error);
      throw error;
    };
    await scene.pass(20_000);
    const [end] = scene.ends;
    expect(errors.length).toBeGreaterThan(8);
    expect(end?.errors).toEqual(errors.slice(-8));
    expect(end?.lastRenewalAt).toBe(Math.round(renewedAt));
  });

  it('forgets the errors before a renewal that succeeds', async () => {
    const scene = new SessionScene();
    scene.session.keepError(timeout);
    await scene.pass(3_400);
    scene.session.end('memberClosed');
    expect(scene.ends[0]?.errors).toEqual([]);
  });

  it('warns of an event loop that lags over a tenth of the ttl, and tells at the end how long it was blocked', async () => {
    const { clock, session: blocked, world } = blockable(unanswered());
    await blockFor(clock, world, 500 + 900);
    expect(world.events.about('event loop')).toEqual([]);
    await blockFor(clock, world, 500 + 1_200);
    expect(world.events.about('event loop')).toMatchObject([{ blockedMs: 1_200 }]);
    blocked.end('memberClosed');
    expect(blocked.ended?.loopBlockedMs).toBe(1_200);
  });

  it('logs at most one block of the event loop a minute', async () => {
    const { clock, session: blocked, world } = blockable(new SessionScene());
    for (let count = 0; count < 5; count += 1) {
      await blockFor(clock, world, 500 + 1_200);
      await world.pass(5_000);
    }
    expect(world.events.about('event loop')).toMatchObject([{ blockedMs: 1_200 }]);
    blocked.end('memberClosed');
  });

  it('tells how long the event loop was blocked also to a caller that asks before any timer runs', async () => {
    const { clock, session: blocked, world } = blockable(unanswered());
    await world.pass(1_000);
    clock.pause();
    await world.pass(12_000.4);
    expect(blocked.isValid()).toBe(false);
    expect(blocked.ended).toMatchObject({ reason: 'deadline', loopBlockedMs: 11_500, sinceRenewalMs: 13_000 });
  });

  it('forgets how long the event loop was blocked before a renewal that succeeds', async () => {
    const { clock, session: blocked, world } = blockable(new SessionScene());
    await blockFor(clock, world, 2_000);
    await world.pass(3_000);
    blocked.end('memberClosed');
    expect(blocked.ended?.loopBlockedMs).toBe(0);
  });

  it('warns of an event loop that lagged also if a renewal is acknowledged before the late timer runs', async () => {
    const scene = new SessionScene();
    const { clock, session: blocked, world } = blockable(scene);
    const renewed = Promise.withResolvers<Renewal>();
    scene.answer = () => renewed.promise;
    await world.pass(3_500);
    clock.pause();
    await world.pass(500 + 1_200);
    renewed.resolve({ validFrom: momentOf(clock), ttlMs: 10_000 });
    await world.pass();
    clock.resume();
    await world.pass();
    expect(world.events.about('event loop')).toMatchObject([{ blockedMs: 1_200 }]);
    blocked.end('memberClosed');
    expect(blocked.ended?.loopBlockedMs).toBe(0);
  });

  it('leaves no timer when it has ended, and a renewal in flight brings none back', async () => {
    const scene = new SessionScene();
    const answer = Promise.withResolvers<Renewal>();
    scene.answer = () => answer.promise;
    await scene.pass(4_000);
    scene.session.end('memberClosed');
    expect(scene.world.clock.timers).toBe(0);
    answer.reject(timeout);
    const settled = track(answer.promise);
    await scene.pass(0);
    expect([settled.state, scene.world.clock.timers]).toEqual(['rejected', 0]);
  });
});

/** Blocks just after a clock check, so that the next check is late by `ms` less its interval. */
async function blockFor(clock: PausableClock, world: World, ms: number): Promise<void> {
  clock.pause();
  await world.pass(ms);
  clock.resume();
  await world.pass(0);
}
