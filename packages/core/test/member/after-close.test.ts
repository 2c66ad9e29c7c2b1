/** No timer, call or watch outlives a close. */

import type { MemoryStore, Operation } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { NAME, TTL_MS, World } from '../support/world.ts';

describe('nothing outlives a close', () => {
  it('of an observer: not a read whose answer never comes', async () => {
    const world = new World();
    const store = world.connect({ latencyMs: ({ kind, operation }) => (kind === 'reply' && operation === 'read' ? Infinity : 0) });
    const observer = world.observer({}, store);
    observer.subscribe(() => {});
    await world.pass(10);
    expect(world.clock.timers).toBeGreaterThan(0);
    await observer.close();
    await world.pass();
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it.each([
    ['refuse', 'the wait before the next try'],
    ['stall', 'a call'],
  ] as const)('of a member that leaves a group on a dead link (%s): not %s', async (fault, _what) => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    await world.run(member.group('g').join());
    store.link[fault]();
    await world.run(member.close());
    await world.pass();
    // The server's own: its lease's.
    expect(world.clock.timers).toBe(world.server.leases().length);
  });

  it.each(['refuse', 'stall'] as const)('of a member that leads on a dead link (%s): not its release', async (fault) => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    await world.elect(member);
    store.link[fault]();
    await world.run(member.close());
    await world.pass();
    expect(world.clock.timers).toBe(world.server.leases().length);
  });
});

describe('no call outlives a close', () => {
  /** A store that never answers one kind of call. */
  function deafTo(world: World, deaf: Operation): MemoryStore {
    return world.connect({ latencyMs: ({ kind, operation }) => (kind === 'reply' && operation === deaf ? Infinity : 0) });
  }

  it('not a renewal, nor what restores the member’s key', async () => {
    const world = new World();
    const member = world.member('a', {}, deafTo(world, 'renewLease'));
    await world.run(member.group('g').join());
    await world.pass(TTL_MS / 3);
    world.server.deleteKey('members/a');
    await world.pass();
    await world.run(member.close());
    await world.pass();
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it.each(['close', 'shutdown'] as const)('not a revocation, nor a withdrawal (%s)', async (way) => {
    const world = new World();
    await world.elect(world.member('leader'));
    const before = world.clock.timers;
    const store = world.connect();
    const member = world.member('a', {}, store);
    member
      .election(NAME)
      .campaign()
      .catch(() => {});
    await world.pass(1);
    store.link.stall();
    await world.run(member[way]());
    await world.pass();
    // The server's own: its lease's.
    expect(world.clock.timers).toBe(before + 1);
  });

  it('not the cleaning up after an opening that was given up', async () => {
    const world = new World();
    await world.run(world.member('a').group('g').join());
    const before = world.clock.timers;
    const store = world.connect();
    const late = world.member('a', {}, store);
    late
      .group('g')
      .join()
      .catch(() => {});
    await world.pass(10);
    store.link.stall();
    await world.run(late.shutdown({ timeoutMs: 100 }));
    await world.pass();
    expect(world.clock.timers).toBe(before + 1);
  });

  it('not the work of a shutdown that was given too little time', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    await world.elect(member);
    store.link.stall();
    const tookMs = await world.timed(member.shutdown({ timeoutMs: 50 }));
    await world.pass();
    expect(tookMs).toBeLessThanOrEqual(50);
    expect([world.clock.timers, world.clock.holds]).toEqual([world.server.leases().length, 0]);
  });
});
