/**
 * Delays that grow with each failure, with random jitter so that callers that fail together do not
 * retry together.
 */

import { fraction, type Random } from '../base/random.ts';

/** The delays between the tries of one call. */
export class Backoff {
  readonly #random: Random;
  readonly #firstMs: number;
  readonly #maxMs: number;
  #failures = 0;

  /** The nth delay is 50 % to 100 % of the smaller of `firstMs × 2ⁿ⁻¹` and `maxMs`. */
  constructor(random: Random, firstMs: number, maxMs: number) {
    this.#random = random;
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
  }

  /** The delay before the next try, in ms. Counts one more failure. */
  next(): number {
    const wholeMs = Math.min(this.#firstMs * 2 ** Math.min(this.#failures, 30), this.#maxMs);
    this.#failures += 1;
    return wholeMs * (0.5 + 0.5 * fraction(this.#random));
  }

  /** Forgets the failures, after a success. */
  reset(): void {
    this.#failures = 0;
  }
}

/**
 * The delays before a watch that failed is started again, or a group is joined again: at most 0.5 s
 * at first, and at most 30 s.
 */
export function watchBackoff(random: Random): Backoff {
  return new Backoff(random, 500, 30_000);
}
