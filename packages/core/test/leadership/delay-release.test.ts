import { describe, expect, it } from 'vitest';
import { after, behind, DRAIN_MS, led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

describe('a promise that delays the release', () => {
  it('keeps the keys of the term until it settles, however it does', async () => {
    const { world, leadership } = await led();
    leadership.delayRelease(after(world, 200));
    leadership.delayRelease(after(world, 500).then(() => Promise.reject(new Error('could not'))));
    const resigning = track(leadership.resign());
    await world.pass(499);
    expect([leadership.isValid(), world.server.keys().includes(LEADER), resigning.state]).toEqual([false, true, 'pending']);
    await world.pass(1);
    expect([world.server.keys().includes(LEADER), resigning.state]).toEqual([false, 'resolved']);
  });

  it('delays it for drainMs at most, and is not reported as stuck work', async () => {
    const { world, leadership } = await led();
    leadership.delayRelease(new Promise(() => {}));
    expect(await world.timed(leadership.resign())).toBe(DRAIN_MS);
    expect(world.events.about('did not stop')).toEqual([]);
    expect(world.queue()).toEqual([]);
  });

  it('may be any thenable, as may the work', async () => {
    const { world, leadership } = await led();
    // Unlike the `then` of a promise, this one returns nothing.
    const thenable = { then: (resolve: () => void) => void world.clock.schedule(300, resolve) };
    for (const method of ['waitUntil', 'delayRelease'] as const) Reflect.apply(leadership[method], leadership, [thenable]);
    expect(await world.timed(leadership.resign())).toBe(300);
    expect(world.events.about('did not stop')).toEqual([]);
  });

  it('also delays the release of lead, whose work has stopped before', async () => {
    const world = new World();
    const leading = world
      .member('a')
      .election(NAME)
      .lead((leadership) => leadership.delayRelease(after(world, 300)));
    expect(await world.timed(leading)).toBe(300);
  });

  it("never delays it beyond the lease's own end, less the margin", async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.elect(world.member('a', { drainMs: 2_000 }, store));
    const released = track(leadership.released);
    leadership.delayRelease(new Promise(() => {}));
    store.link.cutOff();
    await world.pass(TTL_MS - 199);
    expect([leadership.isValid(), released.state]).toEqual([false, 'pending']);
    await world.pass(2);
    expect(released.state).toBe('resolved');
  });

  it('delays it for drainMs at most also after a loss in which all work has stopped', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(leadership.ended);
    leadership.delayRelease(new Promise(() => {}));
    const released = track(leadership.released);
    await world.pass(10);
    world.clock.advanceWall(3_600_000);
    expect(leadership.isValid()).toBe(false);
    await world.pass(DRAIN_MS - 1);
    expect(released.state).toBe('pending');
    await world.pass(1);
    expect(released.state).toBe('resolved');
  });

  it('may be the promise of the release itself', async () => {
    const { world, leadership } = await led();
    leadership.delayRelease(leadership.released);
    expect(await world.timed(leadership.resign())).toBe(DRAIN_MS);
  });

  it('delays it also if it is passed while the work stops', async () => {
    const { world, leadership } = await led();
    leadership.waitUntil(after(world, 200).then(() => leadership.delayRelease(after(world, 300))));
    expect(await world.timed(leadership.resign())).toBe(500);
  });

  it('delays a handover, and then the successor leads', async () => {
    const { world, leadership } = await led();
    const next = await behind(world, 'b');
    leadership.delayRelease(after(world, 400));
    const handover = track(leadership.handover('b'));
    await world.pass(300);
    expect([leadership.isValid(), next.state, handover.state]).toEqual([false, 'pending', 'pending']);
    await world.run(leadership.released);
    await world.pass(100);
    expect([next.state, handover.state]).toEqual(['resolved', 'resolved']);
  });

  it('does not shorten the drain of a loss, in which work that nobody passed in may still run', async () => {
    const { world, leadership } = await led();
    leadership.delayRelease(leadership.ended);
    const released = track(leadership.released);
    world.server.deleteKey(LEADER);
    await world.pass(DRAIN_MS - 1);
    expect([leadership.isValid(), released.state]).toEqual([false, 'pending']);
    await world.pass(1);
    expect(released.state).toBe('resolved');
  });
});
