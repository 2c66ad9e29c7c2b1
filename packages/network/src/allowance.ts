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
