/**
 * Guards a resource that is not the store: refuses whatever carries an older term than it has already seen. (The generation clock; Kleppmann,
 * "How to do distributed locking", 2016, calls the number a fencing token.)
 */

import { IncumbentError } from '../base/errors.ts';
import { checkKnown } from '../base/validate.ts';
import { checkAdmitted } from '../protocol/terms.ts';

export interface FenceOptions {
  /** The highest term seen so far, for a fence whose memory is kept elsewhere. From 0n to `2n ** 62n`. Default 0n. */
  readonly highest?: bigint;
}

/**
 * One resource's memory of terms. It lives in this process alone: a resource that several processes write to must compare terms itself
 * (`update … where term <= $1` in SQL, a script in Redis, a precondition in object storage).
 */
export class Fence {
  #highest: bigint;

  constructor(options: FenceOptions = {}) {
    checkKnown('fence', options, ['highest']);
    const { highest = 0n } = options;
    this.#highest = checkAdmitted('highest', highest, 0n);
  }

  /** The highest term admitted so far. */
  get highest(): bigint {
    return this.#highest;
  }

  /**
   * Admits a term that is not older than any before it, and remembers it. Otherwise throws
   * `STALE_TERM`, with `details.term` and `details.seen`. A leader that meets this passes `seen` to
   * `leadership.reportTerm`. A term beyond `2n ** 62n`, which no election reaches by counting, is
   * refused with a `RangeError` (`INVALID_OPTION`) and is not remembered.
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
