/** What is left to chance, so that many clients that lose a server together do not come back together. */

import type { Random } from '@incumbent/core';

/** The first attempt is made at once. The pause before the next doubles from the first to the last; each is spread by chance down to its half. */
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 500;

export class Pauses {
  readonly #random: Random;
  #wholeMs = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): number {
    const wholeMs = this.#wholeMs;
    this.#wholeMs = Math.min(Math.max(wholeMs * 2, FIRST_PAUSE_MS), LAST_PAUSE_MS);
    return wholeMs * (0.5 + 0.5 * fraction(this.#random));
  }

  reset(): void {
    this.#wholeMs = 0;
  }
}

/** The same items in a random order, each order equally likely. */
export function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(Math.floor(fraction(random) * left.length), 1));
}

function fraction(random: Random): number {
  return random.u32() / 2 ** 32;
}
