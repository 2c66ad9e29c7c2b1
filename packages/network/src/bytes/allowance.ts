/**
 * Limits how much memory the answers of a server can take. A broken or hostile server may send an
 * answer without an end, or an answer of millions of tiny parts.
 *
 * The limit follows from the largest answer of the store contract: a list of 16 MiB.
 */

import type { Cancel } from '@incumbent/core';

/** The most bytes of one answer. Each of its parts counts as {@link PART_BYTES} more. */
export const MAX_ANSWER_BYTES: number = 17 * 2 ** 20;

/** The memory that a string, a number or a list takes besides its own bytes. */
export const PART_BYTES = 128;

/** The most bytes of an answer before the server has identified itself. */
export const MAX_GREETING_BYTES: number = 256 * 2 ** 10;

/** Counts down the memory of one answer while it is decoded. */
export class Allowance {
  #left: number;

  constructor(bytes: number = MAX_ANSWER_BYTES) {
    this.#left = bytes;
  }

  /** False if the answer has taken more than it may. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}

/** The most bytes of all answers that arrive at one store: twice the longest answer. */
const MAX_ANSWERS_BYTES: number = 2 * MAX_ANSWER_BYTES;

/** Shorter answers do not count, so that long answers never block renewals and claims. */
const SMALL_BYTES: number = 64 * 2 ** 10;

/** The arriving answers of one store would take more than its {@link SharedAllowance}. */
export class AnswersTooLarge extends Error {
  constructor() {
    super('the answers under way take too much memory together');
    this.name = 'AnswersTooLarge';
  }
}

/** The first so many pieces of a message may have any size. */
const FREE_PIECES = 1_024;
/**
 * The later pieces must have so many bytes on average. No network cuts messages into smaller ones.
 */
const MIN_PIECE_BYTES = 16;

/** A message arrives in pieces of a few bytes, which cost too much processor time. */
export class TinyPieces extends Error {
  constructor() {
    super('a message arrives in pieces of a few bytes');
    this.name = 'TinyPieces';
  }
}

/**
 * @throws `TinyPieces` if the `pieces` in which the `bytes` of one message arrived are too small.
 */
export function checkPieces(pieces: number, bytes: number): void {
  if ((pieces - FREE_PIECES) * MIN_PIECE_BYTES > bytes) throw new TinyPieces();
}

/**
 * The memory for all arriving answers of one store. Each reader takes it from its own {@link
 * Share}.
 */
export class SharedAllowance {
  readonly #smallBytes: number;
  readonly #onFree = new Set<() => void>();
  #left: number;

  constructor(bytes: number = MAX_ANSWERS_BYTES, smallBytes: number = SMALL_BYTES) {
    this.#left = bytes;
    this.#smallBytes = smallBytes;
  }

  /** A share that has taken nothing yet. */
  share(): Share {
    return new Share((bytes) => this.#spend(bytes), this.#smallBytes);
  }

  /** Runs `task` once, soon after a share has returned memory. Returns its cancellation. */
  onFree(task: () => void): Cancel {
    this.#onFree.add(task);
    return () => {
      this.#onFree.delete(task);
    };
  }

  #spend(bytes: number): void {
    if (bytes > this.#left) throw new AnswersTooLarge();
    this.#left -= bytes;
    // Deferred, because the reader that returns memory may need it again for the next step of the
    // same answer.
    if (bytes < 0 && this.#onFree.size > 0) queueMicrotask(() => this.#runWaiting());
  }

  #runWaiting(): void {
    const tasks = [...this.#onFree];
    this.#onFree.clear();
    for (const task of tasks) task();
  }
}

/** What one reader has taken from a {@link SharedAllowance}. */
export class Share {
  readonly #spend: (bytes: number) => void;
  readonly #smallBytes: number;
  #taken = 0;

  /** Use {@link SharedAllowance.share}. `spend` with a negative number returns bytes. */
  constructor(spend: (bytes: number) => void, smallBytes: number) {
    this.#spend = spend;
    this.#smallBytes = smallBytes;
  }

  /**
   * Takes memory. Numbers below 64 KiB do not count.
   *
   * @throws {@link AnswersTooLarge}, and takes nothing, if less is left.
   */
  take(bytes: number): void {
    if (bytes < this.#smallBytes) return;
    this.#spend(bytes);
    this.#taken += bytes;
  }

  /** Returns everything. The share can be used again. */
  release(): void {
    this.#spend(-this.#taken);
    this.#taken = 0;
  }
}
