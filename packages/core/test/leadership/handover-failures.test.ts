/** Handovers whose calls fail, or whose watches lag. */

import { describe, expect, it } from 'vitest';
import type { Change, Leadership, Member } from '../../src/index.ts';
import { led } from '../support/led.ts';
import { relay, timeout } from '../support/relay.ts';
import { quiet, track } from '../support/track.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

const isHandover = (changes: readonly Change[]): boolean =>
  changes.length === 4 && changes[0]?.key === LEADER && 'put' in changes[0] && changes[0].expect !== null;

/** Hands over to a member that has just joined the queue. */
async function handedTo(world: World, leadership: Leadership, member: Member): Promise<Leadership> {
  const next = quiet(member.election(NAME).campaign());
  await world.until(() => world.queue().includes(member.memberId));
  await world.pass(50);
  await world.run(leadership.handover(member.memberId));
  return world.run(next);
}

describe('a handover', () => {
  it('can follow a handover', async () => {
    const world = new World();
    const first = await world.elect(world.member('a'));
    const second = await handedTo(world, first, world.member('b'));
    const third = await handedTo(world, second, world.member('c'));
    expect(third.term).toBe(3n);
  });

  it('can follow a handover that the successor noticed by a read instead of its watch', async () => {
    const world = new World();
    const link = world.connect();
    // The change of its own entry arrives 20 ms after the end of the entry ahead: watches are
    // independent of one another.
    const store = relay(link, {
      watch: (key, options) => (key.includes('/b~') ? later(link.watch(key, options)) : link.watch(key, options)),
    });
    async function* later<T>(states: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
      for await (const state of states) {
        await new Promise<void>((resolve) => world.clock.schedule(20, resolve));
        yield state;
      }
    }
    const first = await world.elect(world.member('a'));
    const second = await handedTo(world, first, world.member('b', {}, store));
    const third = await handedTo(world, second, world.member('c'));
    expect(third.term).toBe(3n);
  });

  it('that was applied late has not failed', async () => {
    const world = new World();
    const link = world.connect();
    let late: (() => Promise<unknown>) | undefined;
    const store = relay(link, {
      compareAndSwap: async (changes, options) => {
        if (!isHandover(changes)) return link.compareAndSwap(changes, options);
        if (late === undefined) {
          late = () => link.compareAndSwap(changes, options);
          throw timeout();
        }
        await late();
        return link.compareAndSwap(changes, options);
      },
    });
    const leader = await world.elect(world.member('a', {}, store));
    const asB = quiet(world.member('b').election(NAME).campaign());
    await world.until(() => world.queue().includes('b'));
    const outcome = leader.handover('b').then(
      () => 'handed over',
      (error: unknown) => error,
    );
    expect((await world.run(asB)).term).toBe(2n);
    expect(await world.run(outcome)).toBe('handed over');
  });

  it('that nothing confirms rejects with an error that says so, also where the successor leads', async () => {
    const world = new World();
    const link = world.connect();
    let silent = false;
    const store = relay(link, {
      compareAndSwap: async (changes, options) => {
        const result = await link.compareAndSwap(changes, options);
        if (!isHandover(changes)) return result;
        silent = true;
        throw timeout();
      },
      read: async (key, options) => {
        if (silent) throw timeout();
        return link.read(key, options);
      },
    });
    const leader = await world.elect(world.member('a', {}, store));
    const asB = quiet(world.member('b').election(NAME).campaign());
    await world.until(() => world.queue().includes('b'));
    await world.pass(50);
    await expect(world.run(leader.handover('b'))).rejects.toMatchObject({
      code: 'HANDOVER_FAILED',
      message: 'the store has not confirmed the handover to "b"',
    });
    expect((await world.run(asB)).isValid()).toBe(true);
  });

  it('rejects with LEADERSHIP_ENDED if the leadership ends while it reads the queue', async () => {
    const { world, store, leadership } = await led();
    void quiet(world.member('b').election(NAME).campaign());
    await world.until(() => world.queue().includes('b'));
    store.link.dropRequests(1, { operations: ['list'] });
    const handover = track(leadership.handover('b'));
    await world.pass(10);
    leadership.reportTerm(7n);
    await world.pass(TTL_MS);
    expect(handover.error).toMatchObject({ code: 'LEADERSHIP_ENDED', details: { reason: 'termBehind' } });
  });

  it("gives a term that is not below the successor's minTerm", async () => {
    const world = new World();
    const first = await world.elect(world.member('a'));
    const asB = world.member('b').election(NAME, { minTerm: 100n }).campaign();
    await world.until(() => world.queue().includes('b'));
    await world.run(first.handover('b').catch(() => {}));
    expect((await world.run(asB)).term).toBeGreaterThanOrEqual(100n);
  });
});
