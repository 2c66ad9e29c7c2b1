import { PausableClock } from '@incumbent/core/testing';
import { describe, expect, it } from 'vitest';

import { momentOf } from '../../src/base/clock.ts';
import { Member, type RenewedLease, type RenewedMember, type Renewal, type Renewer } from '../../src/index.ts';
import { LeaseSession } from '../../src/lease/session.ts';
import { SessionScene, unanswered, VALID_MS } from '../support/session.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

/** Records the calls that it gets. The test decides what it has renewed. */
class Notes implements Renewer {
  readonly log: string[] = [];
  readonly renewals: Renewal[] = [];
  member: RenewedMember | undefined;
  beats = 0;
  newest: Renewal | undefined;

  join(member: RenewedMember) {
    this.member = member;
    return {
      renew: (lease: string): RenewedLease => {
        this.log.push(`renew ${lease}`);
        return {
          beat: () => void (this.beats += 1),
          renewed: (renewal) => void this.renewals.push(renewal),
          latest: () => this.newest,
          ended: () => void this.log.push(`ended ${lease}`),
        };
      },
      close: async () => void this.log.push('close'),
    };
  }
}

/** A session whose own renewals are never answered, on a clock whose timers can be held. */
function blockable() {
  const { context, world } = unanswered();
  const notes = new Notes();
  const clock = new PausableClock(world.clock);
  const renewer = notes.join({ store: context.store, clock, timing: context.timing, maxBlockedMs: 30_000, emit: () => {} });
  const session = new LeaseSession({ ...context, clock, renewer }, { id: 'l', ttlMs: TTL_MS, validFrom: momentOf(clock) });
  session.start();
  return { session, notes, world, clock };
}

describe('a session with a renewer', () => {
  it('stays valid past its own deadline by a renewal that the renewer got while no timer ran', async () => {
    const { session, notes, world, clock } = blockable();
    clock.pause();
    await world.pass(8_000);
    notes.newest = { ttlMs: TTL_MS, validFrom: momentOf(clock) };
    await world.pass(2_000);
    expect(session.isValid()).toBe(true);
    expect(session.remainingMs()).toBeCloseTo(VALID_MS - 2_000, 6);
    expect(world.events.about('has kept the lease')).toHaveLength(1);
    await world.pass(VALID_MS - 2_000);
    expect(session.isValid()).toBe(false);
    expect(session.ended?.reason).toBe('deadline');
  });

  it('is not valid by a renewal whose own deadline has passed', async () => {
    const { session, notes, world, clock } = blockable();
    clock.pause();
    notes.newest = { ttlMs: TTL_MS, validFrom: momentOf(clock) };
    await world.pass(VALID_MS);
    expect(session.isValid()).toBe(false);
  });

  it('never becomes valid again by a renewal that comes after its end', async () => {
    const { session, notes, world, clock } = blockable();
    clock.pause();
    await world.pass(VALID_MS);
    expect(session.isValid()).toBe(false);
    notes.newest = { ttlMs: TTL_MS, validFrom: momentOf(clock) };
    expect(session.isValid()).toBe(false);
    expect(notes.log).toEqual(['renew l', 'ended l']);
  });

  it('takes off the time by which the wall clock was set back meanwhile', async () => {
    const { session, notes, world, clock } = blockable();
    clock.pause();
    await world.pass(8_000);
    notes.newest = { ttlMs: TTL_MS, validFrom: momentOf(clock) };
    await world.pass(2_000);
    world.clock.advanceWall(-3_000);
    expect(session.isValid()).toBe(true);
    expect(session.remainingMs()).toBeLessThanOrEqual(VALID_MS - 2_000);
    world.clock.advanceWall(VALID_MS + 1_000);
    expect(session.isValid()).toBe(false);
  });

  it('tells it several times per ttl that the event loop runs, and of each renewal of its own', async () => {
    const scene = new SessionScene();
    const notes = new Notes();
    const { context, world } = scene;
    const renewer = notes.join({
      store: context.store,
      clock: context.clock,
      timing: context.timing,
      maxBlockedMs: 30_000,
      emit: () => {},
    });
    const session = new LeaseSession({ ...context, renewer }, { id: 'l', ttlMs: TTL_MS, validFrom: momentOf(world.clock) });
    session.start();
    await world.pass(TTL_MS);
    expect(notes.beats).toBe(20);
    expect(notes.renewals).toHaveLength(3);
    session.end('memberClosed');
    await world.pass(TTL_MS);
    expect([notes.beats, notes.log]).toEqual([20, ['renew l', 'ended l']]);
  });
});

describe('a member with a renewer', () => {
  it('adds itself when it is made, has each lease renewed, and closes the renewer', async () => {
    const world = new World();
    const renewer = new Notes();
    const member = world.member('a', { renewIn: renewer });
    expect([renewer.member?.timing.ttlMs, renewer.member?.maxBlockedMs, renewer.log]).toEqual([TTL_MS, 3 * TTL_MS, []]);
    await world.run(member.election(NAME).campaign());
    const [lease] = world.server.leases();
    await world.run(member.close());
    expect(renewer.log).toEqual([`renew ${lease?.id}`, `ended ${lease?.id}`, 'close']);
    await world.close();
  });

  it.each([7, {}, { join: 1 }, null, 'worker'])('refuses %o', async (renewIn) => {
    const world = new World();
    const wrong: { readonly renewIn: Renewer } = JSON.parse(JSON.stringify({ renewIn }));
    expect(() => new Member(world.connect(), wrong)).toThrow(/renewIn is .*: it must be an object with a function join/);
    await world.close();
  });

  it('refuses a limit below the ttl, and one without a renewer', async () => {
    const world = new World();
    const renewIn = new Notes();
    expect(() => world.member('a', { renewIn, maxBlockedMs: TTL_MS - 1 })).toThrow(/maxBlockedMs is 9999: it must be a number from 10000/);
    expect(() => world.member('b', { maxBlockedMs: TTL_MS })).toThrow(/maxBlockedMs is 10000: it must be left out/);
    await world.close();
  });
});
