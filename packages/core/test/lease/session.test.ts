import { describe, expect, it } from 'vitest';
import { momentOf } from '../../src/base/clock.ts';
import { StoreError, type Renewal } from '../../src/index.ts';
import { LeaseSession } from '../../src/lease/session.ts';
import { PausableClock } from '../../src/testing.ts';
import { VALID_MS, SessionScene, unanswered } from '../support/session.ts';

const expired = new StoreError('LEASE_EXPIRED', 'refused', 'gone');

describe('the deadline', () => {
  it('is validFrom + ttl − margin − drain, exact on the monotonic clock', async () => {
    const { session, world } = unanswered();
    expect(session.remainingMs()).toBeCloseTo(VALID_MS, 6);
    await world.pass(VALID_MS - 0.01);
    expect(session.isValid()).toBe(true);
    await world.pass(0.01);
    expect(session.isValid()).toBe(false);
    expect(session.remainingMs()).toBe(0);
  });

  it('is as exact on the wall clock', async () => {
    const { session, world } = unanswered();
    world.clock.advanceWall(VALID_MS - 0.5);
    expect(session.isValid()).toBe(true);
    expect(session.remainingMs()).toBeCloseTo(0.5, 2);
    world.clock.advanceWall(0.5);
    expect(session.isValid()).toBe(false);
  });

  it('ends the session by a timer, without a call of isValid()', async () => {
    const { ends, world } = unanswered();
    await world.pass(VALID_MS - 0.01);
    expect(ends).toEqual([]);
    await world.pass(0.02);
    expect(ends).toMatchObject([{ reason: 'deadline' }]);
  });

  it('may have passed when the lease comes: then nothing is begun', async () => {
    const { context, world } = unanswered();
    const granted = momentOf(world.clock);
    await world.pass(10_000);
    const before = world.clock.timers;
    const session = new LeaseSession(context, { id: 'l', ttlMs: 10_000, validFrom: granted });
    session.start();
    expect([session.ended?.reason, world.clock.timers]).toEqual(['deadline', before]);
  });

  it('ends the session at a call of isValid(), although no timer runs', async () => {
    const { context, world } = unanswered();
    const clock = new PausableClock(world.clock);
    const session = new LeaseSession({ ...context, clock }, { id: 'l', ttlMs: 10_000, validFrom: momentOf(clock) });
    session.start();
    clock.pause();
    await world.pass(VALID_MS + 5_000);
    expect(session.ended).toBeUndefined();
    expect(session.isValid()).toBe(false);
    expect(session.ended?.reason).toBe('deadline');
  });

  it('is counted from the sending of the renewal, not from its answer', async () => {
    const scene = new SessionScene();
    const answer = Promise.withResolvers<Renewal>();
    scene.answer = () => answer.promise;
    await scene.pass(10_000 / 3);
    const { at } = scene.renewals[0]!.options;
    await scene.pass(2_000);
    answer.resolve({ ttlMs: 10_000, validFrom: at });
    await scene.pass(0);
    expect(scene.session.remainingMs()).toBeCloseTo(VALID_MS - 2_000, 6);
  });

  it('is counted from the validFrom of the store if that is before the sending', async () => {
    const scene = new SessionScene();
    const granted = momentOf(scene.world.clock);
    scene.answer = async () => ({ ttlMs: 10_000, validFrom: scene.renewals.length === 1 ? granted : scene.renewals.at(-2)!.options.at });
    await scene.pass(10_000 / 3);
    expect(scene.renewals.length).toBe(1);
    expect(scene.session.remainingMs()).toBeCloseTo(VALID_MS - 10_000 / 3, 2);
    await scene.pass(10_000 / 3);
    expect(scene.renewals.length).toBe(2);
    expect(scene.session.remainingMs()).toBeCloseTo(VALID_MS - 10_000 / 3, 2);
  });

  it('never moves back for an acknowledgement with an earlier validFrom than the last one', async () => {
    const scene = new SessionScene();
    const granted = momentOf(scene.world.clock);
    await scene.pass(10_000 / 3);
    const remaining = scene.session.remainingMs();
    scene.answer = async () => ({ ttlMs: 10_000, validFrom: granted });
    await scene.pass(10_000 / 3);
    expect(scene.session.remainingMs()).toBeCloseTo(remaining - 10_000 / 3, 2);
  });

  it('of a drain ends where the store may give the key away, less the margin', async () => {
    const { session } = unanswered();
    expect(session.safeUntil).toBeCloseTo(10_000 - 198.0198, 3);
  });
});

describe('once false, never true again', () => {
  it('a renewal that is acknowledged after the deadline does not make the session valid again', async () => {
    const scene = new SessionScene();
    const answer = Promise.withResolvers<Renewal>();
    scene.answer = () => answer.promise;
    await scene.pass(VALID_MS + 1);
    answer.resolve({ ttlMs: 10_000, validFrom: momentOf(scene.world.clock) });
    await scene.pass(20_000);
    expect([scene.session.isValid(), scene.ends.length, scene.renewals.length]).toEqual([false, 1, 1]);
  });

  it('a wall clock that is set forward past the deadline, and back again, has ended it', async () => {
    const { ends, session, world } = unanswered();
    world.clock.advanceWall(60_000);
    expect(session.isValid()).toBe(false);
    world.clock.advanceWall(-60_000);
    expect(session.isValid()).toBe(false);
    expect(ends).toMatchObject([{ reason: 'clockJump' }]);
  });

  it('a second end has no effect', async () => {
    const { ends, session, world } = unanswered();
    session.end('memberClosed');
    session.end('leaseExpired');
    session.keepError(expired);
    await world.pass(20_000);
    expect(ends).toMatchObject([{ reason: 'memberClosed' }]);
    expect(world.clock.timers).toBe(0);
  });

  it('a listener that comes after the end is called at once', async () => {
    const { session } = unanswered();
    session.end('memberClosed');
    let reason: unknown;
    session.onEnd((end) => {
      reason = end.reason;
    });
    expect(reason).toBe('memberClosed');
  });

  it('a listener that was cancelled is not called', async () => {
    const { session } = unanswered();
    session.onEnd(() => expect.unreachable())();
    session.end('memberClosed');
  });
});

describe('the wall clock', () => {
  it('set back changes nothing', async () => {
    const { session, world } = unanswered();
    world.clock.advanceWall(-3_600_000);
    expect(session.remainingMs()).toBeCloseTo(VALID_MS, 6);
    await world.pass(VALID_MS - 1);
    expect(session.isValid()).toBe(true);
    await world.pass(1);
    expect(session.ended?.reason).toBe('deadline');
  });

  it('set forward a little is made good by the next renewal', async () => {
    const scene = new SessionScene();
    scene.world.clock.advanceWall(4_000);
    expect(scene.session.remainingMs()).toBeCloseTo(VALID_MS - 4_000, 2);
    await scene.pass(10_000 / 3);
    expect(scene.session.remainingMs()).toBeCloseTo(VALID_MS, 2);
    await scene.pass(60_000);
    expect(scene.session.isValid()).toBe(true);
  });

  it('set forward past the deadline is noticed while nobody asks, within a twentieth of the ttl', async () => {
    const { ends, world } = unanswered();
    world.clock.advanceWall(9_000);
    await world.pass(500);
    expect(ends).toMatchObject([{ reason: 'clockJump' }]);
  });

  it('that goes on while the machine is suspended and the monotonic clock stands still ends validity at the first look', async () => {
    const scene = new SessionScene();
    await scene.pass(5_000);
    scene.world.clock.advanceWall(30_000);
    expect(scene.session.isValid()).toBe(false);
    expect(scene.ends).toMatchObject([{ reason: 'clockJump' }]);
    await scene.pass(30_000);
    expect(scene.session.isValid()).toBe(false);
  });

  it('set back after a suspension does not grant the time of the suspension again', async () => {
    const { ends, session, world } = unanswered();
    await world.pass(1_000);
    world.clock.advanceWall(4_000);
    await world.pass(500);
    world.clock.advanceWall(-3_600_000);
    await world.pass(500);
    expect(session.remainingMs()).toBeCloseTo(VALID_MS - 6_000, 2);
    await world.pass(VALID_MS - 5_999);
    expect(session.isValid()).toBe(false);
    expect(ends).toMatchObject([{ reason: 'clockJump' }]);
  });

  it('set back before a suspension still shows the suspension', async () => {
    const { ends, session, world } = unanswered();
    world.clock.advanceWall(-3_600_000);
    await world.pass(500);
    world.clock.advanceWall(4_000);
    expect(session.remainingMs()).toBeCloseTo(VALID_MS - 4_500, 2);
    world.clock.advanceWall(VALID_MS - 4_499);
    expect(session.isValid()).toBe(false);
    expect(ends).toMatchObject([{ reason: 'clockJump' }]);
  });

  it('that was set back while a renewal was under way has used up no more than since that was sent', async () => {
    const scene = new SessionScene();
    const answer = Promise.withResolvers<Renewal>();
    scene.answer = ({ options }) => answer.promise.then(({ ttlMs }) => ({ ttlMs, validFrom: options.at }));
    scene.world.clock.advanceWall(1_000);
    await scene.pass(1_000);
    scene.world.clock.advanceWall(-1_000);
    await scene.pass(10_000 / 3 - 1_000);
    expect(scene.renewals).toHaveLength(1);
    scene.world.clock.advanceWall(2_000);
    await scene.pass(500);
    scene.world.clock.advanceWall(-60_000);
    await scene.pass(500);
    answer.resolve({ ttlMs: 10_000, validFrom: momentOf(scene.world.clock) });
    await scene.pass(1);
    expect(scene.session.remainingMs()).toBeCloseTo(VALID_MS - 3_001, 0);
    await scene.pass(10_000 / 3);
    expect(scene.session.remainingMs()).toBeCloseTo(VALID_MS - 1_001, 0);
  });

  it('that is slewed, or read late, was not set back', async () => {
    const { ends, session, world } = unanswered();
    for (let i = 0; i < 10; i += 1) {
      world.clock.advanceWall(4);
      await world.pass(500);
      world.clock.advanceWall(-4);
      await world.pass(250);
    }
    expect(session.remainingMs()).toBeCloseTo(VALID_MS - 7_500, 6);
    await world.pass(VALID_MS - 7_500);
    expect(ends).toMatchObject([{ reason: 'deadline' }]);
  });

  it('that runs faster by less than the allowed error has not jumped', async () => {
    const { ends, world } = unanswered();
    world.clock.advanceWall(90);
    await world.pass(VALID_MS);
    expect(ends).toMatchObject([{ reason: 'deadline' }]);
  });
});
