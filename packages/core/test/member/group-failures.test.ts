/** A group whose calls fail, or are applied late. */

import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/index.ts';
import { denied, failing, relay, timeout } from '../support/relay.ts';
import { quiet, track } from '../support/track.ts';
import { TTL_MS, World } from '../support/world.ts';

const KEY = 'groups/g/a';

/** Loses the answer of a put of the group's key, and then denies every call to it for a while. */
class LostThenDenied {
  readonly store: Store;
  phase: 'works' | 'loses' | 'denies' = 'works';

  constructor(behind: Store) {
    this.store = relay(behind, {
      read: async (key, options) => {
        if (this.phase === 'denies' && key === KEY) throw denied();
        return behind.read(key, options);
      },
      compareAndSwap: async (changes, options) => {
        if (changes[0]?.key !== KEY || this.phase === 'works') return behind.compareAndSwap(changes, options);
        if (this.phase === 'denies') throw denied();
        this.phase = 'denies';
        await behind.compareAndSwap(changes, options);
        throw timeout();
      },
    });
  }
}

describe('a put that the store applies without an answer, before it denies every call', () => {
  it('does not stay in the store after a join that fails', async () => {
    const world = new World();
    const link = new LostThenDenied(world.connect());
    const group = world.member('a', {}, link.store).group('g');
    link.phase = 'loses';
    await expect(world.run(group.join())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(world.server.keys()).toContain(KEY);
    link.phase = 'works';
    await world.pass(2 * TTL_MS);
    expect(world.server.keys()).toEqual(['members/a']);
    await world.run(group.join());
    await world.pass(100 * TTL_MS);
    expect(world.server.keys()).toContain(KEY);
    await world.close();
    world.expectNothingLeft();
  });

  it('is not removed any more once the member has joined after all', async () => {
    // The join begins before, during and after the calls that remove the key.
    for (let afterMs = 4_980; afterMs < 5_010; afterMs += 2) {
      const world = new World();
      const link = new LostThenDenied(world.connect({ latencyMs: 5 }));
      const group = world.member('a', {}, link.store).group('g');
      link.phase = 'loses';
      await expect(world.run(group.join())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
      link.phase = 'works';
      await world.pass(afterMs);
      await world.run(group.join());
      for (let ms = 0; ms < 50; ms += 1) {
        expect(world.server.keys(), `joined after ${afterMs} ms`).toContain(KEY);
        await world.pass(1);
      }
      await world.close();
    }
  });

  it('does not stay in the store after a member has left that could not join again', async () => {
    const world = new World();
    const link = new LostThenDenied(world.connect());
    const group = world.member('a', {}, link.store).group('g');
    await world.run(group.join());
    link.phase = 'loses';
    world.server.deleteKey(KEY);
    await world.pass(TTL_MS);
    expect(world.server.keys()).toContain(KEY);
    await world.run(group.leave());
    link.phase = 'works';
    await world.pass(2 * TTL_MS);
    expect(world.server.keys()).toEqual(['members/a']);
    await world.close();
    world.expectNothingLeft();
  });
});

describe('a group', () => {
  it('left twice at the same time is left when either call resolves', async () => {
    const world = new World();
    const group = world.member('a', {}, world.connect({ latencyMs: 5 })).group('g');
    await world.run(group.join());
    const [first, second] = [track(group.leave()), track(group.leave())];
    await world.until(() => first.state === 'resolved' || second.state === 'resolved');
    expect(world.server.keys()).not.toContain(KEY);
  });

  it('that is left and joined at the same time has the member from when the join resolves', async () => {
    const world = new World();
    const group = world.member('a', {}, world.connect({ latencyMs: 5 })).group('g');
    await world.run(group.join());
    const leaving = track(group.leave());
    await world.run(group.join());
    expect(leaving.state).toBe('resolved');
    for (let ms = 0; ms < 100; ms += 1) {
      expect(world.server.keys()).toContain(KEY);
      await world.pass(1);
    }
  });

  it('is left although the first try to leave has no answer', async () => {
    const world = new World();
    const link = world.connect();
    const a = world.member('a', {}, link);
    const group = a.group('g');
    await world.run(group.join());
    link.link.dropRequests(1, { operations: ['compareAndSwap'] });
    await world.run(group.leave());
    await world.pass(20 * TTL_MS);
    expect(await world.run(group.members())).toEqual([]);
  });

  it('keeps the process alive until it is left', async () => {
    const world = new World();
    const link = world.connect();
    const group = world.member('a', {}, link).group('g');
    await world.run(group.join());
    expect(world.clock.holds).toBe(0);
    link.link.dropRequests(1, { operations: ['read'], how: 'reset' });
    const leaving = track(group.leave());
    await world.pass();
    expect([leaving.state, world.clock.holds]).toEqual(['pending', 1]);
    await world.until(() => leaving.state === 'resolved');
    expect(world.clock.holds).toBe(0);
    await world.close();
  });

  it('does not call joined a member that has fallen out of it', async () => {
    const world = new World();
    const link = world.connect();
    let broken = true;
    const store = relay(link, {
      watch: (key, options) => (broken && key.startsWith('groups/') ? failing(denied()) : link.watch(key, options)),
    });
    const group = world.member('a', {}, store).group('g');
    await world.run(group.join());
    await world.pass(10);
    broken = false;
    world.server.deleteKey('groups/g/a');
    await world.run(group.join());
    expect(await world.run(group.members())).toHaveLength(1);
  });

  it('joined a second time while the store does not answer, waits for it', async () => {
    const world = new World();
    const link = world.connect();
    const group = world.member('a', {}, link).group('g');
    await world.run(group.join());
    link.link.dropRequests(1, { operations: ['read'] });
    const again = quiet(group.join());
    expect(await world.settles(again, TTL_MS)).toBe(true);
    await again;
    await world.close();
  });

  it.each(['read', 'compareAndSwap'] as const)('is left although a second call of join still waits for its %s', async (operation) => {
    const world = new World();
    let slow = false;
    const link = world.connect({
      latencyMs: (message) => (slow && message.kind === 'request' && message.operation === operation ? 50 : 1),
    });
    const group = world.member('a', {}, link).group('g');
    await world.run(group.join());
    // Somebody deletes the key, so the second call puts it again.
    world.server.deleteKey('groups/g/a');
    slow = true;
    const again = quiet(group.join());
    await world.pass(operation === 'read' ? 1 : 3);
    slow = false;
    await world.run(group.leave());
    await expect(world.run(again)).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    await world.pass(20 * TTL_MS);
    expect(await world.run(group.members())).toEqual([]);
  });
});
