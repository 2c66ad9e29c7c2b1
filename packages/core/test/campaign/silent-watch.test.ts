/** Watches that silently stop while calls succeed: one server hangs, and another one answers. */

import type { MemoryStore } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import type { ElectionObserver, Leadership } from '../../src/index.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TTL_MS, World } from '../support/world.ts';

/** The longest time until the next candidate notices by a check: three ttls and a quarter. */
const NOTICED_MS = 3.75 * TTL_MS + 1_000;

/** A read every 15 s and a quarter at most; then two calls, because the watch is restarted. */
const SEEN_MS = 1.25 * 15_000 + 2 * 5_000;

/** A candidate `b` that waits behind the leader. Its watches go silent. */
async function silenced(world: World): Promise<{ readonly store: MemoryStore; readonly next: Tracked<Leadership> }> {
  const store = world.connect();
  const next = track(world.member('b', {}, store).election(NAME).campaign());
  await world.pass(5_000);
  store.link.stallWatches();
  return { store, next };
}

describe('a candidate whose watches have gone silent', () => {
  it('is elected when the leader’s lease has ended', async () => {
    const world = new World();
    const leader = world.connect();
    await world.elect(world.member('a', {}, leader));
    const { next } = await silenced(world);
    leader.link.cutOff();
    await world.until(() => !world.server.keys().includes(LEADER), 'the end of the lease');
    await world.until(() => next.state === 'resolved', 'the next leader', NOTICED_MS, 10);
  });

  it('learns that a handover has made it the leader', async () => {
    const world = new World();
    const a = await world.elect(world.member('a'));
    const { next } = await silenced(world);
    await world.run(a.handover('b'));
    await world.until(() => next.state === 'resolved', 'the next leader', NOTICED_MS, 10);
  });

  it('reads again soon where the reads of one look failed', async () => {
    const world = new World();
    const a = await world.elect(world.member('a'));
    const { store, next } = await silenced(world);
    store.link.dropRequests(2, { operations: ['read'] });
    await world.run(a.handover('b'));
    // The time of a call, a quarter of a ttl, and a short wait; and not another ttl.
    await world.until(() => next.state === 'resolved', 'the next leader', NOTICED_MS + 0.5 * TTL_MS, 10);
  });

  it('learns that its entry was deleted, and joins again', async () => {
    const world = new World();
    await world.elect(world.member('a'));
    await silenced(world);
    world.server.deleteKey(world.server.keys().find((key) => key.startsWith(`${CANDIDATES}/b`))!);
    await world.until(() => world.queue().includes('b'), 'another entry', NOTICED_MS, 10);
  });

  it('is elected in the end, however far back it stands', async () => {
    // It finds out that nobody leads, and then waits for those ahead of it in vain.
    const noticedMs = (10 * 1.25 + (1 + 12 / 2)) * TTL_MS + 1_000;
    const world = new World();
    const others = Array.from({ length: 12 }, () => world.connect());
    await world.elect(world.member('m0', {}, others[0]));
    for (const [i, store] of others.entries()) if (i > 0) void track(world.member(`m${i}`, {}, store).election(NAME).campaign());
    await world.until(() => world.queue().length === 12, 'all are in the queue');
    const store = world.connect();
    const last = track(world.member('last', {}, store).election(NAME).campaign());
    await world.pass(5_000);
    store.link.stallWatches();
    for (const other of others) other.link.cutOff();
    await world.until(() => !world.server.keys().includes(LEADER), 'the end of the leases');
    await world.until(() => last.state === 'resolved', 'the last one leads', noticedMs, 10);
  });
});

describe('a candidate that waits', () => {
  it('asks for no more than two keys in three ttls', async () => {
    const world = new World();
    await world.elect(world.member('a'));
    void track(world.member('b').election(NAME).campaign());
    await world.pass(5_000);
    const before = world.server.requests.read;
    await world.pass(100 * TTL_MS);
    expect(world.server.requests.read - before).toBeGreaterThan(2 * (100 / 3.75 - 1));
    expect(world.server.requests.read - before).toBeLessThanOrEqual(2 * (100 / 3));
  });
});

describe('a leader whose watches have gone silent', () => {
  /**
   * A leader with a candidate behind it. Its watches go silent; then an operator deletes its keys.
   */
  async function deposed(...keys: readonly string[]) {
    const world = new World();
    const store = world.connect();
    const leader = await world.elect(world.member('a', {}, store));
    const next = track(world.member('b').election(NAME).campaign());
    await world.pass(5_000);
    store.link.stallWatches();
    for (const begin of keys) world.server.deleteKey(world.server.keys().find((key) => key.startsWith(begin))!);
    return { world, store, leader, next };
  }

  it('does not notice that both its keys were deleted, and is valid beside the next one until a guarded write is refused', async () => {
    const { world, leader, next } = await deposed(LEADER, `${CANDIDATES}/a`);
    await world.until(() => next.state === 'resolved', 'the next leader', 100);
    await world.pass(100 * TTL_MS);
    expect([leader.isValid(), next.value?.isValid()]).toEqual([true, true]);
    await expect(leader.swap([{ key: 'x', expect: null, put: new Uint8Array() }])).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
    expect((await leader.ended).reason).toBe('recordReplaced');
    expect(leader.isValid()).toBe(false);
  });

  it('stops as soon as the watches tell again', async () => {
    const { world, store, leader, next } = await deposed(LEADER, `${CANDIDATES}/a`);
    await world.until(() => next.state === 'resolved', 'the next leader', 100);
    store.link.heal();
    await world.pass();
    expect(leader.isValid()).toBe(false);
  });

  it.each([
    ['record', LEADER],
    ['entry', `${CANDIDATES}/a`],
  ])('has nobody beside it where its %s alone was deleted', async (_, key) => {
    const { world, leader, next } = await deposed(key);
    await world.pass(100 * TTL_MS);
    expect([leader.isValid(), next.state]).toEqual([true, 'pending']);
  });

  it('stops at its next renewal where its lease was ended, beside the next one until then', async () => {
    const { world, leader, next } = await deposed();
    world.server.expireLease(world.leaseOf('a'));
    await world.until(() => next.state === 'resolved', 'the next leader', 100);
    expect(leader.isValid()).toBe(true);
    await world.until(() => !leader.isValid(), 'the end of validity', TTL_MS / 3);
    expect((await leader.ended).reason).toBe('leaseExpired');
  });
});

describe('an observer whose watch has gone silent', () => {
  it('sees the next leader all the same, and those that follow once the watch is back', async () => {
    const world = new World();
    const a = await world.elect(world.member('a'));
    const b = track(world.member('b').election(NAME).campaign());
    const store = world.connect();
    const observer = world.observer({}, store);
    const seen = observe(observer);
    await world.until(() => seen.at(-1) === 'a', 'the first leader');
    store.link.stallWatches();
    await world.run(a.resign());
    await world.until(() => b.state === 'resolved', 'the next leader');
    expect(seen.at(-1)).toBe('a');
    await world.until(() => seen.at(-1) === 'b', 'the next leader, seen', SEEN_MS);
    store.link.heal();
    await world.run(b.value!.resign());
    await world.until(() => seen.at(-1) === 'vacant', 'the end of that one');
  });

  it('says that it does not know, where reads fail, too', async () => {
    const world = new World();
    await world.elect(world.member('a'));
    const store = world.connect();
    const seen = observe(world.observer({}, store));
    await world.until(() => seen.at(-1) === 'a', 'the first leader');
    store.link.stall();
    await world.until(() => seen.at(-1) === 'unknown', 'that nothing is known', SEEN_MS);
  });
});

function observe(observer: ElectionObserver): readonly string[] {
  const seen: string[] = [];
  observer.subscribe((view) => void seen.push(view.state === 'leader' ? view.memberId : view.state));
  return seen;
}
