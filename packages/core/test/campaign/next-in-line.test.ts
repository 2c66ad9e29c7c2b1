/**
 * The candidate right behind the leader learns from a watch or from a read how the leader's term
 * ended. On some stores either of them may come first.
 */

import { describe, expect, it } from 'vitest';
import type { Entry, KeyWatchOptions, Leadership, Store } from '../../src/index.ts';
import { led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, NAME, TERM, type World } from '../support/world.ts';

type What = 'read' | 'event';

/**
 * A store that can delay the next answer to a read of the term, and the next event of its watch.
 */
class DelayingStore {
  readonly store: Store;
  readonly #next = new Set<What>();
  readonly #gates = { read: Promise.withResolvers<void>(), event: Promise.withResolvers<void>() };
  /** How often the term was read, and whether each read had to be fresh. */
  readonly reads: (boolean | undefined)[] = [];

  constructor(behind: Store) {
    this.store = relay(behind, {
      read: async (key, options) => {
        if (key === TERM) {
          this.reads.push(options?.fresh);
          await this.#pass('read');
        }
        return behind.read(key, options);
      },
      watch: (key, options) => (key === TERM ? this.#watchTerm(behind, options) : behind.watch(key, options)),
    });
  }

  delay(what: What): void {
    this.#next.add(what);
  }

  release(what: What): void {
    this.#gates[what].resolve();
  }

  async #pass(what: What): Promise<void> {
    if (this.#next.delete(what)) await this.#gates[what].promise;
  }

  async *#watchTerm(behind: Store, options?: KeyWatchOptions): AsyncGenerator<Entry | undefined, void, undefined> {
    for await (const term of behind.watch(TERM, options)) {
      await this.#pass('event');
      yield term;
    }
  }
}

interface Asking {
  readonly world: World;
  readonly delaying: DelayingStore;
  readonly next: Tracked<Leadership>;
  /** Its entry's key. */
  readonly own: string;
}

/**
 * The leader has resigned. The next one has seen the end of its entry, and reads the term, of which
 * its watch has shown nothing yet.
 */
async function asks(): Promise<Asking> {
  const { world, leadership } = await led();
  const delaying = new DelayingStore(world.connect());
  delaying.delay('event');
  const next = track(world.member('b', {}, delaying.store).election(NAME).campaign());
  await world.pass(20);
  const own = world.server.keys().find((key) => key.startsWith(`${CANDIDATES}/b`)) ?? '';
  delaying.reads.length = 0;
  delaying.delay('read');
  await world.run(leadership.resign());
  await world.pass(20);
  expect([delaying.reads, next.state]).toEqual([[false], 'pending']);
  return { world, delaying, next, own };
}

describe('the next candidate, which reads the term', () => {
  it.each([
    ['uses the answer, which need not be fresh', 'read', 'event'],
    ['uses the event of the watch if that comes first, and ignores the answer', 'event', 'read'],
  ] as const)('%s', async (_, first, late) => {
    const { world, delaying, next } = await asks();
    delaying.release(first);
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
    delaying.release(late);
    await world.pass(20);
    expect(next.value?.isValid()).toBe(true);
    await world.close();
    world.expectNothingLeft();
  });

  it.each(['read', 'event'] as const)('joins again if its own entry was deleted meanwhile (%s)', async (first) => {
    const { world, delaying, next, own } = await asks();
    world.server.deleteKey(own);
    await world.pass(20);
    delaying.release(first);
    await world.pass(5_000);
    expect(next.value?.term).toBe(2n);
    expect(world.queue()).toEqual(['b']);
    expect(world.server.keys()).not.toContain(own);
    delaying.release('read');
    delaying.release('event');
    await world.close();
    world.expectNothingLeft();
  });
});

describe('the next candidate, whose watch has shown the term', () => {
  /** The leader resigns, and the watch of the term does not show it yet. */
  async function knows(): Promise<Pick<Asking, 'world' | 'delaying' | 'next'>> {
    const { world, leadership } = await led();
    const delaying = new DelayingStore(world.connect());
    const next = track(world.member('b', {}, delaying.store).election(NAME).campaign());
    await world.pass(20);
    delaying.reads.length = 0;
    delaying.delay('event');
    await world.run(leadership.resign());
    return { world, delaying, next };
  }

  it('reads nothing: its claim is refused, and made again after the term that the refusal shows', async () => {
    const { world, delaying, next } = await knows();
    const swaps = world.server.requests.compareAndSwap;
    await world.pass(20);
    expect([next.value?.term, delaying.reads]).toEqual([2n, []]);
    expect(world.server.requests.compareAndSwap - swaps).toBe(2);
    delaying.release('event');
    await world.close();
    world.expectNothingLeft();
  });

  it('is refused if the term has changed since, and reads again', async () => {
    const { world, delaying, next } = await knows();
    world.server.deleteKey(TERM);
    await world.pass(5_000);
    // The store has lost term 1, which the candidate has seen.
    expect([next.value?.term, next.value?.isValid()]).toEqual([2n, true]);
    delaying.release('event');
    await world.close();
    world.expectNothingLeft();
  });
});
