/**
 * A handover in one swap, whose changes reach the successor's watches one after the other: on some
 * stores each watch is a request of its own.
 */

import { describe, expect, it } from 'vitest';
import type { Entry, Key, KeyWatchOptions, Leadership, Store } from '../../src/index.ts';
import { after, led, type Led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, NAME, TERM } from '../support/world.ts';

/** The keys that the next in line watches, and that the swap changes. */
type Part = 'own' | 'ahead' | 'term';

/** How long each watch takes to show a change, in ms. */
type Delays = Readonly<Record<Part, number>>;

interface Handed extends Led {
  readonly next: Tracked<Leadership>;
  /** The reads since the handover. */
  readonly reads: () => number;
}

function partOf(key: Key): Part | undefined {
  if (key === TERM) return 'term';
  if (key.startsWith(`${CANDIDATES}/b`)) return 'own';
  return key.startsWith(`${CANDIDATES}/a`) ? 'ahead' : undefined;
}

/** The leader `a` hands over to `b`, whose watches show the swap so late. */
async function handedOver(delays: Delays): Promise<Handed> {
  const made = await led({ swapSharesRevision: false });
  const { world, leadership } = made;
  const behind = world.connect();
  let isLate = false;
  async function* watch(key: Key, options?: KeyWatchOptions): AsyncGenerator<Entry | undefined, void, undefined> {
    const part = partOf(key);
    for await (const entry of behind.watch(key, options)) {
      if (isLate && part !== undefined) await after(world, delays[part]);
      yield entry;
    }
  }
  const store: Store = relay(behind, { watch });
  const next = track(world.member('b', {}, store).election(NAME).campaign());
  await world.pass(20);
  isLate = true;
  const before = world.server.requests.read;
  await world.run(leadership.handover());
  return { ...made, next, reads: () => world.server.requests.read - before };
}

const orders: readonly (readonly [Part, Part, Part])[] = [
  ['own', 'ahead', 'term'],
  ['own', 'term', 'ahead'],
  ['ahead', 'own', 'term'],
  ['ahead', 'term', 'own'],
  ['term', 'own', 'ahead'],
  ['term', 'ahead', 'own'],
];

describe('the successor of a handover in one swap, on a store where each key has its own revision', () => {
  it.each(orders)('leads without a read if its watches show %s, %s and %s, in this order', async (first, second, third) => {
    const { world, next, reads } = await handedOver({ own: 0, ahead: 0, term: 0, [first]: 0, [second]: 0.5, [third]: 1 });
    await world.pass(5);
    expect([next.value?.term, next.value?.isValid(), reads()]).toEqual([2n, true, 0]);
    await world.close();
    world.expectNothingLeft();
  });

  it.each([
    ['the mark', { own: 50, ahead: 0, term: 0 }],
    ['the term', { own: 0, ahead: 0, term: 50 }],
  ])('reads whether it leads if its watches do not show %s soon', async (_, delays) => {
    const { world, next, reads } = await handedOver(delays);
    await world.pass(20);
    expect([next.value?.term, next.value?.isValid(), reads() > 0]).toEqual([2n, true, true]);
    await world.pass(100);
    expect(next.value?.isValid()).toBe(true);
    await world.close();
    world.expectNothingLeft();
  });
});
