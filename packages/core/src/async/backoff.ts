/** Waits that grow while something fails, spread by chance so that many who fail together do not come back together. */

import { fraction, type Random } from '../base/random.ts';

export class Backoff {
  readonly #random: Random;
  readonly #firstMs: number;
  readonly #maxMs: number;
  #failures = 0;

  /** The nth wait is between half of and the whole of `firstMs × 2ⁿ⁻¹`, and never over `maxMs`. */
  constructor(random: Random, firstMs: number, maxMs: number) {
    this.#random = random;
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
  }

  next(): number {
    const wholeMs = Math.min(this.#firstMs * 2 ** Math.min(this.#failures, 30), this.#maxMs);
    this.#failures += 1;
    return wholeMs * (0.5 + 0.5 * fraction(this.#random));
  }

  reset(): void {
    this.#failures = 0;
  }
}
