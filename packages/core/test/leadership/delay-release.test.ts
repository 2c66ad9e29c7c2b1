import { describe, expect, it } from 'vitest';
import { after, DRAIN_MS, led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, World } from '../support/world.ts';

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

  it('also delays the release of lead, whose work has stopped before', async () => {
    const world = new World();
    const leading = world
      .member('a')
      .election(NAME)
      .lead((leadership) => leadership.delayRelease(after(world, 300)));
    expect(await world.timed(leading)).toBe(300);
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
