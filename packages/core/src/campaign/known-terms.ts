/**
 * What a member knows about the terms of an election besides the key `term`. A store that has lost
 * data, or in which somebody has deleted that key, shows a lower term than the last one, or none.
 */

import { readLeader, readTerm, tryRead } from '../protocol/record.ts';
import { highestTerm, MAX_FLOOR } from '../protocol/terms.ts';
import { lastIssued } from '../protocol/transactions.ts';
import type { Entry } from '../store/contract.ts';

/** The last term in the store, 0 if there is none, and the higher one that the member has seen. */
export interface LostTerms {
  readonly storedTerm: bigint;
  readonly seenTerm: bigint;
}

/**
 * The terms of one election that a member has seen, or that others have told it. A term above
 * `MAX_FLOOR` is taken to be false and not remembered, so that no record that was written by hand
 * uses up the terms.
 */
export class KnownTerms {
  #floor: bigint;
  #seen = 0n;

  /** Terms up to `floor` count as issued. */
  constructor(floor: bigint) {
    this.#floor = floor;
  }

  /** Terms up to this one count as issued, whatever the store shows. */
  get floor(): bigint {
    return this.#floor;
  }

  /** The highest term that the member has seen in the store: see `lastIssued`. */
  get seen(): bigint {
    return this.#seen;
  }

  /**
   * The terms that the store has lost, for a claim that read this entry of the key `term`.
   * Undefined if it has lost none that the member has seen.
   */
  lostAt(entry: Entry | undefined): LostTerms | undefined {
    const record = tryRead(readTerm, entry);
    const storedTerm = record?.term ?? 0n;
    return lastIssued(record, this.#seen) > storedTerm ? { storedTerm, seenTerm: this.#seen } : undefined;
  }

  raiseFloor(term: bigint): void {
    this.#floor = highestTerm(this.#floor, term);
  }

  /** Takes the key `term`, as it was read or as a watch showed it. */
  seeTerm(entry: Entry | undefined): void {
    const last = lastIssued(tryRead(readTerm, entry), this.#seen);
    if (last <= MAX_FLOOR) this.#seen = last;
  }

  /** Takes the key `leader`, as it was read or as a watch showed it. */
  seeLeader(entry: Entry | undefined): void {
    this.see(tryRead(readLeader, entry)?.term ?? 0n);
  }

  see(term: bigint): void {
    if (term <= MAX_FLOOR) this.#seen = highestTerm(this.#seen, term);
  }
}
