/**
 * How much of a process's memory one answer of a server may take. A server that is broken, or hostile, may send one without an end, or one of
 * millions of tiny parts.
 *
 * It is derived from the largest answer that a store's contract has: a list of 16 MiB, as each adapter refuses longer ones where it can.
 */

/** Bytes of one answer, each part of it counted as {@link PART_BYTES} more. */
export const MAX_ANSWER_BYTES: number = 17 * 2 ** 20;

/** What a string, a number or a list takes in this process besides its own bytes. */
export const PART_BYTES = 128;

/** Before a server has shown what it is, no answer comes near this. */
export const MAX_GREETING_BYTES: number = 256 * 2 ** 10;

/** What is left to one answer while it is read. */
export class Allowance {
  #left: number;

  constructor(bytes: number = MAX_ANSWER_BYTES) {
    this.#left = bytes;
  }

  /** False where the answer has taken too much. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}

/** Bytes that the answers under way of one store may take together: the longest answer, twice. */
const MAX_ANSWERS_BYTES: number = 2 * MAX_ANSWER_BYTES;

/** Shorter answers do not count, so that renewals and claims go on while long answers use everything up. */
const SMALL_BYTES: number = 64 * 2 ** 10;

/** The answers under way of one store would take more than {@link SharedAllowance} has. */
export class AnswersTooLarge extends Error {
  constructor() {
    super('the answers under way take too much memory together');
    this.name = 'AnswersTooLarge';
  }
}

/** A message arrives in pieces of a few bytes, each of which costs more work than it is worth. */
export class TinyPieces extends Error {
  constructor() {
    super('a message arrives in pieces of a few bytes');
    this.name = 'TinyPieces';
  }
}

/** What is left to all answers that are under way at one store. Whoever reads an answer takes from its own {@link Share}. */
export class SharedAllowance {
  readonly #smallBytes: number;
  #left: number;

  constructor(bytes: number = MAX_ANSWERS_BYTES, smallBytes: number = SMALL_BYTES) {
    this.#left = bytes;
    this.#smallBytes = smallBytes;
  }

  /** A share that holds nothing yet. */
  share(): Share {
    return new Share((bytes) => {
      if (bytes > this.#left) throw new AnswersTooLarge();
      this.#left -= bytes;
    }, this.#smallBytes);
  }
}

/** What one reader holds of a {@link SharedAllowance}. */
export class Share {
  readonly #spend: (bytes: number) => void;
  readonly #smallBytes: number;
  #held = 0;

  /** For {@link SharedAllowance.share}. A negative number of bytes is given back. */
  constructor(spend: (bytes: number) => void, smallBytes: number) {
    this.#spend = spend;
    this.#smallBytes = smallBytes;
  }

  /** Throws {@link AnswersTooLarge} where less is left. Then the share holds what it held before. Small numbers do not count. */
  take(bytes: number): void {
    if (bytes < this.#smallBytes) return;
    this.#spend(bytes);
    this.#held += bytes;
  }

  /** Gives back all that the share holds. The share can be used again. */
  release(): void {
    this.#spend(-this.#held);
    this.#held = 0;
  }
}
