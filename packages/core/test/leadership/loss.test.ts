import diagnosticsChannel from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import type { LeadershipEnd } from '../../src/index.ts';
import { PausableClock } from '../../src/testing.ts';
import { after, DRAIN_MS, led, type Led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { uncaughtDuring } from '../support/uncaught.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** How each loss is brought about, and the reasons that may be given for it. */
const losses: Readonly<Record<string, readonly [(led: Led) => void, readonly string[]]>> = {
  'its record is deleted': [({ world }) => void world.server.deleteKey(LEADER), ['recordDeleted']],
  "its record is another's": [
    ({ world }) => world.put(LEADER, { v: 1, term: '9', memberId: 'x', incarnation: 'i', entry: 'e' }),
    ['recordReplaced'],
  ],
  'its record is no record': [({ world }) => world.put(LEADER, 'hello'), ['recordReplaced']],
  'its entry is deleted': [({ world }) => void world.server.deleteKey(String(entryOf(world))), ['entryDeleted']],
  'its lease is ended': [
    ({ world }) => void world.server.expireLease(world.leaseOf('a')),
    ['leaseExpired', 'recordDeleted', 'entryDeleted'],
  ],
  'its wall clock jumps': [({ world }) => world.clock.advanceWall(3_600_000), ['clockJump']],
  'a fence has seen a newer term': [({ leadership }) => leadership.reportTerm(7n), ['termBehind']],
};

function entryOf(world: World): unknown {
  return world.json(TERM)?.['entry'];
}

describe.each(Object.entries(losses))('when %s', (_, [lose, reasons]) => {
  it('isValid() is false, then the signal aborts, then the event is emitted, then the work drains, then the keys go', async () => {
    const led_ = await led();
    const { world, leadership } = led_;
    const takesEntry = reasons.includes('entryDeleted');
    const steps: string[] = [];
    leadership.signal.addEventListener('abort', () => {
      steps.push(`abort, ${leadership.isValid() ? 'valid' : 'not valid'}`);
      leadership.waitUntil(after(world, 400).then(() => steps.push(`stopped, entry ${world.queue().length}`)));
    });
    void leadership.ended.then(() => steps.push('ended'));
    void leadership.released.then(() => steps.push('released'));
    lose(led_);
    await world.pass(1_000);
    expect(steps).toEqual(['abort, not valid', 'ended', `stopped, entry ${takesEntry ? 0 : 1}`, 'released']);
    expect(world.queue()).toEqual([]);
  });

  it('the end explains itself, once, to all who ask', async () => {
    const led_ = await led();
    const { world, leadership } = led_;
    await world.pass(4_000);
    lose(led_);
    await world.pass(600);
    const end: LeadershipEnd = await leadership.ended;
    expect(reasons).toContain(end.reason);
    expect(end).toMatchObject({ term: 1n, lost: true, errors: expect.any(Array), loopBlockedMs: expect.any(Number) });
    expect(leadership.signal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', details: end });
    await world.run(leadership.resign());
    await world.pass(TTL_MS);
    expect((await leadership.ended).reason).toBe(end.reason);
    expect(world.events.about('leadership ended')).toMatchObject([{ election: NAME, reason: end.reason }]);
  });
});

describe('the drain', () => {
  it('lasts for all of drainMs if no work was passed in, and ends at once with resign()', async () => {
    for (const word of [false, true]) {
      const { world, leadership } = await led();
      const released = track(leadership.released);
      world.server.deleteKey(LEADER);
      await world.pass(DRAIN_MS - 1);
      expect(released.state).toBe('pending');
      if (word) void leadership.resign();
      await world.pass(word ? 0 : 1);
      expect(released.state).toBe('resolved');
    }
  });

  it('takes no time if the leadership is given up and no work was passed in', async () => {
    const { world, leadership } = await led();
    expect(await world.timed(leadership.resign())).toBe(0);
  });

  it('waits for every promise it was given, however they settle', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(after(world, 200));
    leadership.waitUntil(after(world, 500).then(() => Promise.reject(new Error('could not'))));
    expect(await world.timed(leadership.resign())).toBe(500);
    expect(world.events.about('did not stop')).toEqual([]);
  });

  it('waits for what it is given while it waits', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(after(world, 200).then(() => leadership.waitUntil(after(world, 300))));
    expect(await world.timed(leadership.resign())).toBe(500);
  });

  it('ends after drainMs, and reports what is stuck', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(new Promise(() => {}));
    expect(await world.timed(leadership.resign())).toBe(DRAIN_MS);
    expect(world.events.about('did not stop')).toMatchObject([{ election: NAME, term: '1' }]);
    expect(world.queue()).toEqual([]);
  });

  it("never goes beyond the lease's own end, less the margin", async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.elect(world.member('a', { drainMs: 2_000 }, store));
    const released = track(leadership.released);
    leadership.waitUntil(new Promise(() => {}));
    store.link.cutOff();
    await world.pass(TTL_MS - 199);
    expect([leadership.isValid(), released.state]).toEqual([false, 'pending']);
    await world.pass(2);
    expect(world.events.about('did not stop').length).toBe(1);
  });

  it('of a loss lasts for all of drainMs although the work that was passed in has stopped', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(Promise.resolve());
    await world.pass(10);
    const released = track(leadership.released);
    world.server.deleteKey(LEADER);
    await world.pass(DRAIN_MS - 1);
    expect(released.state).toBe('pending');
  });

  it('of lead ends at once when the work resigns, also after a loss', async () => {
    const { world, member, leadership } = await led();
    await world.run(leadership.resign());
    let tookMs = Number.NaN;
    track(
      member.election(NAME).lead(async (mine) => {
        await mine.ended;
        const from = world.clock.monotonic();
        await mine.resign();
        tookMs = world.clock.monotonic() - from;
        return new Promise(() => {});
      }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(tookMs).toBe(0);
  });
});

describe('an abort listener that throws', () => {
  it('does not change the order of the loss, and Node raises the error', async () => {
    const { world, leadership } = await led();
    const caught = await uncaughtDuring(async () => {
      leadership.signal.addEventListener('abort', () => {
        throw new Error('the listener failed');
      });
      await world.run(leadership.resign());
    });
    expect(caught).toMatchObject([{ message: 'the listener failed' }]);
    expect([leadership.isValid(), world.queue(), world.json(LEADER)]).toEqual([false, [], undefined]);
  });

  it('may resign from within', async () => {
    const { world, leadership } = await led();
    leadership.signal.addEventListener('abort', () => void leadership.resign());
    world.server.deleteKey(LEADER);
    await world.pass(1);
    expect(world.queue()).toEqual([]);
  });
});

describe('a leadership that is past its deadline when its end is asked for', () => {
  it.each(['resign', 'close'] as const)('was lost, and says so (%s)', async (way) => {
    const world = new World();
    const clock = new PausableClock(world.clock);
    const member = world.member('a', { clock });
    const leadership = await world.elect(member);
    clock.pause();
    await world.pass(TTL_MS);
    const ending = way === 'resign' ? leadership.resign() : member.close();
    clock.resume();
    expect(await world.run(leadership.ended)).toMatchObject({ reason: 'deadline', lost: true });
    await world.run(ending);
    await world.close();
  });

  it('was lost, also if a subscriber of the end of the session asks for its end', async () => {
    const { world, store, member, leadership } = await led();
    const close = (): void => void member.close();
    diagnosticsChannel.subscribe('incumbent:sessionEnded', close);
    try {
      store.link.cutOff();
      expect(await world.run(leadership.ended, TTL_MS)).toMatchObject({ reason: 'deadline', lost: true });
      await world.run(member.close());
    } finally {
      diagnosticsChannel.unsubscribe('incumbent:sessionEnded', close);
    }
  });
});
