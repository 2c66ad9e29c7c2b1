import { describe, expect, it, vi } from 'vitest';

import { StoreError } from '../../src/base/errors.ts';
import type { WatchOptions } from '../../src/store/contract.ts';
import { watchStates, type WatchController } from '../../src/store/watch-iterator.ts';

const DONE = { done: true, value: undefined };
const LOST = new StoreError('CONNECTION_LOST', 'unknown', 'lost');

/** A watch of numbers, of each of which the state is its text. */
class Watched {
  readonly begun: WatchController<number>[] = [];
  readonly made: number[] = [];
  ended = 0;
  readonly states: AsyncIterable<string>;

  constructor(options: Partial<WatchOptions> = {}, begin: (watch: WatchController<number>) => void = () => {}) {
    this.states = watchStates<number, string>(
      (watch) => {
        this.begun.push(watch);
        begin(watch);
        return () => {
          this.ended += 1;
        };
      },
      (seen) => {
        this.made.push(seen);
        return String(seen);
      },
      { signal: new AbortController().signal, ...options },
    );
  }

  /** One that has given its first state. */
  async iterate(): Promise<{ readonly states: Required<AsyncIterator<string>>; readonly watch: WatchController<number> }> {
    const states = this.states[Symbol.asyncIterator]();
    const first = states.next();
    const watch = this.begun.at(-1);
    if (watch === undefined || states.return === undefined) throw new TypeError('it has not begun');
    watch.show(0);
    await first;
    return { states: { next: () => states.next(), return: states.return.bind(states), throw: () => Promise.reject(LOST) }, watch };
  }
}

describe('a watch', () => {
  it('begins when it is first asked, and anew for everyone who iterates', () => {
    const watched = new Watched();
    const [one, other] = [watched.states[Symbol.asyncIterator](), watched.states[Symbol.asyncIterator]()];
    expect(watched.begun).toHaveLength(0);
    void one.next();
    void one.next();
    expect(watched.begun).toHaveLength(1);
    void other.next();
    expect(watched.begun).toHaveLength(2);
  });

  it('gives a slow consumer the latest, and makes no state that nobody takes', async () => {
    const watched = new Watched();
    const { states, watch } = await watched.iterate();
    for (let i = 1; i <= 100; i += 1) watch.show(i);
    expect(await states.next()).toEqual({ done: false, value: '100' });
    expect(watched.made).toEqual([0, 100]);
  });

  it('answers requests in their order, and those that arrive meanwhile after them', async () => {
    const { states, watch } = await new Watched().iterate();
    const served: string[] = [];
    const ask = (who: string): Promise<unknown> => states.next().then(({ value }) => served.push(`${who} ${value}`));
    const asked = [ask('a'), ask('b'), ask('c')];
    for (const seen of [1, 2, 3]) {
      watch.show(seen);
      if (seen === 1) asked.push(ask('d'));
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    }
    watch.show(4);
    await Promise.all(asked);
    expect(served).toEqual(['a 1', 'b 2', 'c 3', 'd 4']);
  });
});

describe('a watch ends', () => {
  it.each<[string, (parts: { states: Required<AsyncIterator<string>>; stop: AbortController }) => void]>([
    ['by its signal', ({ stop }) => stop.abort()],
    ['by return', ({ states }) => void states.return()],
  ])('%s: for those who wait, for those who come later; what nobody took is dropped', async (_, end) => {
    const stop = new AbortController();
    const watched = new Watched({ signal: stop.signal });
    const { states, watch } = await watched.iterate();
    const waiting = [states.next(), states.next()];
    end({ states, stop });
    watch.show(1);
    watch.fail(new Error('late'));
    expect(await Promise.all(waiting)).toEqual([DONE, DONE]);
    expect(await states.next()).toEqual(DONE);
    await states.return();
    stop.abort();
    expect(watched.ended).toBe(1);
  });

  it('before it begins, where its signal has aborted, or return was called', async () => {
    const watched = new Watched({ signal: AbortSignal.abort() });
    expect(await watched.states[Symbol.asyncIterator]().next()).toEqual(DONE);
    const left = new Watched().states[Symbol.asyncIterator]();
    await left.return?.();
    expect(await left.next()).toEqual(DONE);
    expect(watched.begun).toHaveLength(0);
  });

  it('once with the error of the adapter: for a waiting request, or else for the next one', async () => {
    const [one, other] = [new Watched(), new Watched()];
    const waits = await one.iterate();
    const waiting = waits.states.next();
    waits.watch.fail(new Error('no'));
    await expect(waiting).rejects.toThrow('no');
    expect(await waits.states.next()).toEqual(DONE);
    const comes = await other.iterate();
    comes.watch.show(1);
    comes.watch.fail(new Error('no'));
    comes.watch.fail(new Error('again'));
    await expect(comes.states.next()).rejects.toThrow('no');
    expect(await comes.states.next()).toEqual(DONE);
    expect([one.ended, other.ended]).toEqual([1, 1]);
  });

  it('with what the making of a state throws', async () => {
    const ended = vi.fn<() => void>();
    const states = watchStates<number, string>(
      (watch) => {
        watch.show(1);
        return ended;
      },
      () => {
        throw new Error('no state');
      },
      { signal: new AbortController().signal },
    )[Symbol.asyncIterator]();
    await expect(states.next()).rejects.toThrow('no state');
    expect(await states.next()).toEqual(DONE);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('as it begins: by what begin throws, or says', async () => {
    const throws = new Watched({}, () => {
      throw new Error('no');
    });
    await expect(throws.states[Symbol.asyncIterator]().next()).rejects.toThrow('no');
    expect(throws.ended).toBe(0);
    const says = new Watched({}, (watch) => watch.fail(new Error('no')));
    await expect(says.states[Symbol.asyncIterator]().next()).rejects.toThrow('no');
    expect(says.ended).toBe(1);
  });
});

describe('a state that can no longer be confirmed', () => {
  it('is not yielded, and reported once until there is another', async () => {
    const onStale = vi.fn<(cause: StoreError) => void>();
    const { states, watch } = await new Watched({ onStale }).iterate();
    watch.show(1);
    watch.lose(LOST);
    watch.lose(LOST);
    const next = states.next();
    expect(onStale.mock.calls).toEqual([[LOST]]);
    watch.show(2);
    expect(await next).toEqual({ done: false, value: '2' });
    watch.lose(LOST);
    expect(onStale).toHaveBeenCalledTimes(2);
    await states.return();
    watch.show(2);
    watch.lose(LOST);
    expect(onStale).toHaveBeenCalledTimes(2);
  });

  it('is reported once, though another state came and was lost before the consumer took it', async () => {
    const onStale = vi.fn<(cause: StoreError) => void>();
    const { states, watch } = await new Watched({ onStale }).iterate();
    watch.lose(LOST);
    watch.show(1);
    watch.lose(LOST);
    expect(onStale).toHaveBeenCalledTimes(1);
    watch.show(2);
    expect(await states.next()).toEqual({ done: false, value: '2' });
    watch.lose(LOST);
    expect(onStale).toHaveBeenCalledTimes(2);
  });

  it('is not yielded to a waiting consumer either, if it is lost in the turn in which it came', async () => {
    const results: string[] = [];
    const { states, watch } = await new Watched({ onStale: () => results.push('stale') }).iterate();
    const next = states.next().then(({ value }) => results.push(value));
    watch.show(1);
    watch.lose(LOST);
    await new Promise((resolve) => setImmediate(resolve));
    expect(results).toEqual(['stale']);
    watch.show(2);
    await next;
    expect(results).toEqual(['stale', '2']);
  });

  it('ends the watch if onStale throws', async () => {
    const watched = new Watched({
      onStale: () => {
        throw new Error('mine');
      },
    });
    const { states, watch } = await watched.iterate();
    watch.lose(LOST);
    await expect(states.next()).rejects.toThrow('mine');
    expect(watched.ended).toBe(1);
  });
});
