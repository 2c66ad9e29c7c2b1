/** Whoever stands right behind the leader learns how its term ended by a watch, or by a read: on some stores the two answer in any order. */

import { describe, expect, it } from 'vitest';
import type { Entry, KeyWatchOptions, Leadership, Store } from '../../src/index.ts';
import { led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, NAME, TERM, type World } from '../support/world.ts';

type What = 'read' | 'word';

/** A store that can hold back its next answer about the term, and its next word that the term has ended. */
class ManagedLeadership {
  readonly store: Store;
  readonly #next = new Set<What>();
  readonly #gates = { read: Promise.withResolvers<void>(), word: Promise.withResolvers<void>() };
  /** How often the term was read, and whether each read had to be fresh. */
  readonly reads: (boolean | undefined)[] = [];

  constructor(behind: Store) {
    this.store = relay(behind, {
      read: async (key, options) => {
        if (key === TERM) {
          this.reads.push(options.fresh);
          await this.#pass('read');
        }
        return behind.read(key, options);
      },
      watch: (key, options) => (key === TERM ? this.#watchTerm(behind, options) : behind.watch(key, options)),
    });
  }

  hold(what: What): void {
    this.#next.add(what);
  }

  let(what: What): void {
    this.#gates[what].resolve();
  }

  async #pass(what: What): Promise<void> {
    if (this.#next.delete(what)) await this.#gates[what].promise;
  }

  async *#watchTerm(behind: Store, options: KeyWatchOptions): AsyncGenerator<Entry | undefined, void, undefined> {
    for await (const term of behind.watch(TERM, options)) {
      if (term !== undefined && new TextDecoder().decode(term.value).includes('"ended"')) await this.#pass('word');
      yield term;
    }
  }
}

interface Scene {
  readonly world: World;
  readonly held: ManagedLeadership;
  readonly next: Tracked<Leadership>;
  /** Its entry's key. */
  readonly own: string;
}

/** The leader has resigned. The next one has been told that its entry has gone, and asks for the term. */
async function asks(): Promise<Scene> {
  const { world, leadership } = await led();
  const held = new ManagedLeadership(world.connect());
  const next = track(world.member('b', {}, held.store).election(NAME).campaign());
  await world.pass(20);
  const own = world.server.keys().find((key) => key.startsWith(`${CANDIDATES}/b`)) ?? '';
  held.reads.length = 0;
  held.hold('read');
  held.hold('word');
  await world.run(leadership.resign());
  await world.pass(20);
  expect([held.reads, next.state]).toEqual([[false], 'pending']);
  return { world, held, next, own };
}

describe('whoever is next, and asks for the term', () => {
  it('goes by the answer, which need not be fresh', async () => {
    const { world, held, next } = await asks();
    held.let('read');
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
    held.let('word');
    await world.close();
    world.expectNothingLeft();
  });

  it("goes by the watch's word, where that comes first, and does not mind the answer", async () => {
    const { world, held, next } = await asks();
    held.let('word');
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
    held.let('read');
    await world.pass(20);
    expect(next.value?.isValid()).toBe(true);
    await world.close();
    world.expectNothingLeft();
  });

  it.each(['read', 'word'] as const)('hears meanwhile that its own entry was deleted, and joins again (%s)', async (first) => {
    const { world, held, next, own } = await asks();
    world.server.deleteKey(own);
    await world.pass(20);
    held.let(first);
    await world.pass(5_000);
    expect(next.value?.term).toBe(2n);
    expect(world.queue()).toEqual(['b']);
    expect(world.server.keys()).not.toContain(own);
    held.let('read');
    held.let('word');
    await world.close();
    world.expectNothingLeft();
  });

  it('is refused where what it was told is so no more, and looks again', async () => {
    const { world, held, next } = await asks();
    world.server.deleteKey(TERM);
    held.let('word');
    await world.pass(5_000);
    // The terms begin anew where their key was deleted.
    expect([next.value?.term, next.value?.isValid()]).toEqual([1n, true]);
    held.let('read');
    await world.close();
    world.expectNothingLeft();
  });
});
