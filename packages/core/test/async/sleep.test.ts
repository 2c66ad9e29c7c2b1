import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { Semaphore } from '../../src/async/semaphore.ts';
import { sleep } from '../../src/async/sleep.ts';
import { follow, untilGone } from '../../src/store/key-watch.ts';
import { track } from '../support/track.ts';
import { World } from '../support/world.ts';

describe('sleep', () => {
  it('ends when its time is up, and not before', async () => {
    const clock = new ManualClock();
    const slept = track(sleep(clock, 100));
    await clock.advance(99);
    expect(slept.state).toBe('pending');
    await clock.advance(1);
    expect(slept.state).toBe('resolved');
  });

  it('ends when its signal aborts, and leaves no timer', async () => {
    const clock = new ManualClock();
    const caller = new AbortController();
    const slept = track(sleep(clock, 100, caller.signal));
    caller.abort();
    await clock.advance(0);
    expect([slept.state, clock.timers]).toEqual(['resolved', 0]);
    const late = track(sleep(clock, 100, caller.signal));
    await clock.advance(0);
    expect([late.state, clock.timers]).toEqual(['resolved', 0]);
  });

  it('lasts a moment at least: a loop that sleeps for nothing is no hot loop', async () => {
    const clock = new ManualClock();
    const slept = track(sleep(clock, -5));
    await clock.advance(0);
    expect(slept.state).toBe('pending');
  });
});

describe('a semaphore', () => {
  it('lets so many run at a time, and the rest in the order in which they came', async () => {
    const clock = new ManualClock();
    const semaphore = new Semaphore(2);
    const [begun, ended]: [number[], number[]] = [[], []];
    const task = (n: number) => async (): Promise<void> => {
      begun.push(n);
      await sleep(clock, 10);
      ended.push(n);
    };
    const all = Promise.all([0, 1, 2, 3, 4].map((n) => semaphore.run(task(n))));
    await clock.advance(0);
    expect(begun).toEqual([0, 1]);
    await clock.advance(10);
    expect([begun, ended]).toEqual([
      [0, 1, 2, 3],
      [0, 1],
    ]);
    await clock.run(all);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });

  it('counts a task for as many calls as it makes, and lets none overtake it', async () => {
    const clock = new ManualClock();
    const semaphore = new Semaphore(3);
    const begun: string[] = [];
    const task = (name: string) => async (): Promise<void> => {
      begun.push(name);
      await sleep(clock, 10);
    };
    const all = Promise.all([semaphore.run(task('two'), 2), semaphore.run(task('two more'), 2), semaphore.run(task('one'))]);
    await clock.advance(0);
    expect(begun).toEqual(['two']);
    await clock.advance(10);
    expect(begun).toEqual(['two', 'two more', 'one']);
    await clock.run(all);
  });

  it('is not narrowed by tasks that fail', async () => {
    const semaphore = new Semaphore(1);
    for (const n of [1, 2, 3]) await expect(semaphore.run(() => Promise.reject(new Error(`no ${n}`)))).rejects.toThrow(`no ${n}`);
    await expect(semaphore.run(async () => 'free')).resolves.toBe('free');
  });
});

describe('following a watch', () => {
  it('hands over every state, and tells of a watch that cannot go on', async () => {
    async function* states(): AsyncGenerator<number> {
      yield* [1, 2];
      throw new Error('no permission');
    }
    const [seen, failed]: [number[], unknown[]] = [[], []];
    await follow(
      states(),
      (state) => seen.push(state),
      (error) => failed.push(error),
    );
    expect([seen, failed]).toEqual([[1, 2], [new Error('no permission')]]);
  });

  it('ends the watch when a state cannot be used', async () => {
    let ended = false;
    async function* states(): AsyncGenerator<number> {
      try {
        yield 1;
        yield 2;
      } finally {
        ended = true;
      }
    }
    const failed: unknown[] = [];
    await follow(
      states(),
      () => JSON.parse('{'),
      (error) => failed.push(error),
    );
    expect([ended, failed.length]).toEqual([true, 1]);
  });
});

describe('waiting until a key is gone', () => {
  it('is true when it goes, at once when it is not there, and false when the time is up', async () => {
    const world = new World();
    const store = world.connect();
    const { signal } = new AbortController();
    expect(await world.run(untilGone(store, world.clock, 'a/b', 100, signal))).toBe(true);
    world.put('a/b', 'x');
    const waiting = track(untilGone(store, world.clock, 'a/b', 100, signal));
    await world.pass(99);
    world.server.deleteKey('a/b');
    await world.pass();
    expect(waiting.value).toBe(true);
    world.put('a/b', 'x');
    expect(await world.run(untilGone(store, world.clock, 'a/b', 100, signal))).toBe(false);
    world.server.deleteKey('a/b');
    world.expectNothingLeft();
  });

  it("rejects with the signal's reason, and with the error of a watch that cannot go on", async () => {
    const world = new World();
    const caller = new AbortController();
    world.put('a/b', 'x');
    const waiting = track(untilGone(world.connect(), world.clock, 'a/b', 100, caller.signal));
    await world.pass();
    caller.abort(new Error('enough'));
    await world.pass();
    expect(waiting.error).toMatchObject({ message: 'enough' });
    const closed = world.connect();
    await closed.close();
    await expect(world.run(untilGone(closed, world.clock, 'a/b', 100, new AbortController().signal))).rejects.toMatchObject({
      code: 'STORE_CLOSED',
    });
    world.server.deleteKey('a/b');
    world.expectNothingLeft();
  });
});
