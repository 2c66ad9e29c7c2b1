/**
 * Guards a resource that is not the store: rejects a term that is older than one it has admitted.
 * (The generation clock. Kleppmann, "How to do distributed locking", 2016, calls the number a
 * fencing token.)
 */

import { IncumbentError } from '../base/errors.ts';
import { explainDetached } from '../base/methods.ts';
import { checkKnown } from '../base/validate.ts';
import { checkAdmitted } from '../protocol/terms.ts';

/** The options of a {@link Fence}. */
export interface FenceOptions {
  /**
   * The highest term seen so far, if it is stored elsewhere. From 0n to `2n ** 62n`. Default 0n.
   */
  readonly highest?: bigint | undefined;
}

/**
 * Remembers the highest term of one resource, in this process alone. A resource that several
 * processes write to must compare terms itself: `update … where term <= $1` in SQL, a script in
 * Redis, a precondition in object storage.
 */
export class Fence {
  #highest: bigint;

  static {
    explainDetached(Fence, 'fence');
  }

  /** @throws `INVALID_OPTION` for a `highest` out of range, or an unknown option. */
  constructor(options: FenceOptions = {}) {
    checkKnown('fence', options, ['highest']);
    const { highest = 0n } = options;
    this.#highest = checkAdmitted('highest', highest, 0n);
  }

  /** The highest term admitted so far. */
  get highest(): bigint {
    return this.#highest;
  }

  toJSON(): { readonly highest: string } {
    return { highest: String(this.#highest) };
  }

  /**
   * Admits and remembers a term that is not older than any before. A leader that gets `STALE_TERM`
   * passes `details.seen` to `leadership.reportTerm`.
   *
   * @throws `STALE_TERM` for an older term, with `details.term` and `details.seen`. A `RangeError`
   *   (`INVALID_OPTION`) for a term above `2n ** 62n`, which no election reaches by counting.
   */
  admit(term: bigint): void {
    checkAdmitted('term', term, 1n);
    if (term < this.#highest) {
      throw new IncumbentError('STALE_TERM', `term ${term} is older than term ${this.#highest}, which this fence has admitted`, {
        details: { term, seen: this.#highest },
      });
    }
    this.#highest = term;
  }
}
