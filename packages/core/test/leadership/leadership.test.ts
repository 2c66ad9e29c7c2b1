import { describe, expect, it } from 'vitest';
import { behind, DRAIN_MS, led, type Led } from '../support/led.ts';
import { denied, failing, relay, timeout } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

describe('a leadership', () => {
  it('is valid from the moment it is given, and says for how long', async () => {
    const { leadership } = await led();
    expect([leadership.term, leadership.memberId, leadership.isValid(), leadership.state]).toEqual([1n, 'a', true, 'valid']);
    expect(leadership.remainingMs()).toBeCloseTo(TTL_MS - 198.02 - DRAIN_MS, 1);
    expect(() => leadership.assertValid()).not.toThrow();
    expect(leadership.signal.aborted).toBe(false);
  });

  it('is suspect while a renewal is overdue, and valid again after it', async () => {
    const { world, store, leadership } = await led();
    store.link.refuse();
    await world.pass(5_000);
    expect([leadership.state, leadership.isValid()]).toEqual(['suspect', true]);
    store.link.heal();
    await world.pass(2_000);
    expect(leadership.state).toBe('valid');
  });

  it('throws its end from assertValid, once it has ended', async () => {
    const { world, leadership } = await led();
    await world.run(leadership.resign());
    expect(() => leadership.assertValid()).toThrow(
      expect.objectContaining({ code: 'LEADERSHIP_ENDED', details: expect.objectContaining({ reason: 'resigned' }) }),
    );
    expect([leadership.state, leadership.remainingMs(), leadership.isValid()]).toEqual(['ended', 0, false]);
  });
});

describe('resigning', () => {
  it('writes down why, deletes the record and the entry, and lets the next one lead at once', async () => {
    const { world, leadership } = await led();
    const next = await behind(world, 'b');
    await world.run(leadership.resign());
    await world.pass(10);
    expect(next.value?.term).toBe(2n);
    expect(await leadership.ended).toMatchObject({ reason: 'resigned', lost: false });
  });

  it('is idempotent', async () => {
    const { world, leadership } = await led();
    await world.run(Promise.all([leadership.resign(), leadership.resign()]));
    await world.run(leadership.resign());
    expect(world.events.about('leadership ended').length).toBe(1);
  });

  it('is tried until it is certain, while the store cannot be reached', async () => {
    const { world, store, leadership } = await led();
    store.link.refuse();
    const resigning = track(leadership.resign());
    await world.pass(3_000);
    expect([resigning.state, leadership.isValid()]).toEqual(['pending', false]);
    store.link.heal();
    await world.pass(3_000);
    expect([resigning.state, world.queue()]).toEqual(['resolved', []]);
  });

  it.each(['timeout', 'reset'] as const)('whose answer is lost (%s) is not done twice to the one who follows', async (how) => {
    const { world, store, leadership } = await led();
    const next = await behind(world, 'b');
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how });
    await world.run(leadership.resign());
    await world.pass(TTL_MS);
    expect([next.value?.term, next.value?.isValid()]).toEqual([2n, true]);
  });
});

describe('a term that a fence reports', () => {
  it('has no effect unless it is newer', async () => {
    const { leadership } = await led();
    leadership.reportTerm(1n);
    expect(leadership.isValid()).toBe(true);
  });

  it.each<[string, (led: Led) => unknown]>([
    ['a resignation', ({ leadership }) => leadership.resign()],
    ['a loss', ({ world }) => world.server.deleteKey(LEADER)],
    ['the end of its lease', ({ world }) => world.server.expireLease(world.leaseOf('a'))],
  ])('raises the next claim of the member above it, also after %s', async (_, end) => {
    const led_ = await led();
    const { world, member, leadership } = led_;
    void end(led_);
    await world.pass(2 * DRAIN_MS);
    const { reason } = await world.run(leadership.ended);
    leadership.reportTerm(7n);
    expect((await world.elect(member)).term).toBe(8n);
    expect([(await leadership.ended).reason, reason]).toEqual([reason, expect.not.stringMatching('termBehind')]);
  });

  it.each([5, 0n, -1n, '5', 2n ** 61n + 1n, 2n ** 63n - 1n])('must be a term: %s', async (seen) => {
    const { leadership } = await led();
    expect(() => Reflect.apply(leadership.reportTerm, leadership, [seen])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

describe('a watch that lags or cannot go on', () => {
  it('ends no leadership by itself: the lease decides', async () => {
    const world = new World();
    const behindStore = world.connect();
    let refusing = false;
    const store = relay(behindStore, {
      watch: (key, options) => (refusing ? failing(denied()) : behindStore.watch(key, options)),
    });
    refusing = true;
    const leadership = await world.elect(world.member('a', {}, store));
    await world.pass(3 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
    refusing = false;
    await world.pass(TTL_MS);
    world.server.deleteKey(LEADER);
    await world.pass(10);
    expect((await leadership.ended).reason).toBe('recordDeleted');
  });

  it('that failed for a while still shows that record and entry were deleted', async () => {
    const world = new World();
    const link = world.connect();
    let broken = true;
    const store = relay(link, {
      watch: (key, options) => (broken && (key === LEADER || key.includes('/a~')) ? failing(timeout()) : link.watch(key, options)),
    });
    const leader = await world.elect(world.member('a', {}, store));
    await world.pass(TTL_MS);
    broken = false;
    await world.pass(TTL_MS);
    const asB = world.member('b').election(NAME).campaign();
    await world.until(() => world.queue().includes('b'));
    const entry = String(world.json(TERM)?.['entry']);
    world.server.deleteKey(entry);
    world.server.deleteKey(LEADER);
    await world.run(asB);
    await world.pass(10 * TTL_MS);
    expect(leader.isValid()).toBe(false);
  });
});
