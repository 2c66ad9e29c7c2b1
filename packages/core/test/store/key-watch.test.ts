import { describe, expect, it, vi } from 'vitest';
import type { Revision, Store } from '../../src/index.ts';
import { KeyWatch } from '../../src/store/key-watch.ts';
import { Telemetry } from '../../src/base/telemetry.ts';
import { resolveTiming } from '../../src/lease/timing.ts';
import { denyFirst, relay } from '../support/relay.ts';
import { World } from '../support/world.ts';

describe('a watch on one key', () => {
  it('gives each state once, the latest only', async () => {
    const world = new World();
    const watch = watchOf(world);
    await world.pass();
    expect(watch.take()).toEqual({ entry: undefined });
    expect(watch.take()).toBeUndefined();
    for (const value of ['1', '2', '3']) world.put('a/b', value);
    await world.pass();
    expect(new TextDecoder().decode(watch.take()?.entry?.value)).toBe('3');
    watch.end();
    await world.pass();
    expect(world.server.watches.open).toBe(0);
  });

  it('calls the latest task only, at once if there is news, and none after it was stopped', async () => {
    const world = new World();
    const watch = watchOf(world);
    const called: string[] = [];
    watch.onNews(() => called.push('first'));
    await world.pass();
    watch.onNews(() => called.push('second'));
    world.put('a/b', '1');
    await world.pass();
    watch.end();
    world.put('a/b', '2');
    await world.pass();
    expect(called).toEqual(['first', 'second', 'second']);
  });

  it('passes the state that nobody has taken, and every later one, and keeps none', async () => {
    const world = new World();
    const watch = watchOf(world);
    const called: string[] = [];
    const seen: string[] = [];
    watch.onNews(() => called.push('task'));
    world.put('a/b', '1');
    await world.pass();
    watch.passTo((entry) => seen.push(new TextDecoder().decode(entry?.value)));
    expect([watch.latest, watch.take()]).toEqual([undefined, undefined]);
    world.put('a/b', '2');
    await world.pass();
    expect([watch.latest, watch.take()]).toEqual([undefined, undefined]);
    expect([called, seen]).toEqual([['task'], ['1', '2']]);
    watch.end();
  });

  it('passes no state that was taken', async () => {
    const world = new World();
    const watch = watchOf(world);
    await world.pass();
    watch.take();
    watch.passTo(() => expect.unreachable());
    expect(watch.latest).toBeUndefined();
    watch.end();
  });

  it('that fails for good is restarted, because the store may grant the permission later', async () => {
    const world = new World();
    const behind = world.connect();
    const first = denyFirst(3);
    const store = relay(behind, { watch: (key, options) => first(() => behind.watch(key, options)) });
    const watch = watchOf(world, store);
    await world.pass(10_000);
    expect(watch.take()).toEqual({ entry: undefined });
    expect(world.events.about('cannot vouch').map(({ key, err }) => [key, err])).toMatchObject(
      ['a/b', 'a/b', 'a/b'].map((key) => [key, { code: 'PERMISSION_DENIED' }]),
    );
    watch.end();
    await world.pass();
    expect([world.server.watches.open, world.clock.timers]).toEqual([0, 0]);
  });

  it('begins with the revision that is known, and without it when it is begun again', async () => {
    const world = new World();
    world.put('a/b', '1');
    const behind = world.connect();
    const known = (await world.run(behind.read('a/b', { timeoutMs: 100 })))?.revision;
    const first = denyFirst(1);
    const begun: unknown[] = [];
    const store = relay(behind, {
      watch: (key, options) => {
        begun.push(options?.since);
        return first(() => behind.watch(key, options));
      },
    });
    const watch = watchOf(world, store, known);
    await world.pass(10_000);
    expect(begun).toEqual([known, undefined]);
    watch.end();
  });

  it('that throws at once, or whose listener throws, is reported and restarted', async () => {
    const world = new World();
    const behind = world.connect();
    const ended = vi.fn<() => void>();
    // What ends badly after that is nobody's concern.
    ended.mockImplementationOnce(() => {
      throw new Error('no end');
    });
    let begun = 0;
    const store = relay(behind, {
      watch: (key, options) => {
        begun += 1;
        if (begun === 1) throw new Error('no watch');
        return ending(behind.watch(key, options), ended);
      },
    });
    const watch = watchOf(world, store);
    watch.onNews(() => {
      if (begun === 2) throw new Error('no news');
    });
    await world.pass(10_000);
    expect(world.events.about('cannot vouch').map(({ err }) => String(err))).toEqual(['Error: no watch', 'Error: no news']);
    expect([begun, ended.mock.calls.length]).toEqual([3, 1]);
    watch.end();
    await world.pass();
    expect([ended.mock.calls.length, world.server.watches.open, world.clock.timers]).toEqual([2, 0, 0]);
  });

  it.each(Array.from({ length: 12 }, (_, turns) => [turns]))(
    'that is a generator ends with the signal, %i turns after a change',
    async (turns) => {
      const world = new World();
      const behind = world.connect();
      const ended = vi.fn<() => void>();
      const watch = watchOf(world, relay(behind, { watch: (key, options) => ending(behind.watch(key, options), ended) }));
      await world.pass();
      world.put('a/b', 'x');
      for (let i = 0; i < turns; i += 1) await Promise.resolve();
      watch.end();
      await world.pass(60_000);
      expect(ended).toHaveBeenCalledTimes(1);
    },
  );

  it('ends with its store', async () => {
    const world = new World();
    const store = world.connect();
    watchOf(world, store);
    await world.pass();
    await store.close();
    await world.pass(60_000);
    expect([world.server.watches, world.clock.timers]).toEqual([{ opened: 1, open: 0 }, 0]);
  });
});

function watchOf(world: World, store: Store = world.connect(), since?: Revision): KeyWatch {
  const { ttlMs } = resolveTiming({}, store.name, store.capabilities);
  return new KeyWatch({ store, clock: world.clock, telemetry: new Telemetry(world.events, {}), retryMs: ttlMs / 10 }).begin('a/b', since);
}

/** As somebody would wrap a watch. */
async function* ending<T>(states: AsyncIterable<T>, ended: () => void): AsyncGenerator<T, void, undefined> {
  try {
    yield* states;
  } finally {
    ended();
  }
}
