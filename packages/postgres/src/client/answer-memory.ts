/** Bounds the memory that the answers of a server take. */

import { AnswersTooLarge, MAX_ANSWER_BYTES, MAX_GREETING_BYTES, PART_BYTES, type Share, SharedAllowance } from '@incumbent/network';

import { ExchangeError } from './failure.ts';
import type { Row } from './rows.ts';

/** The longest answer. Values arrive in base64, which makes them a third longer. */
const MAX_BYTES = Math.ceil((MAX_ANSWER_BYTES * 4) / 3);

/** Answers take memory from the allowance of the store in such steps, and the first one is free. */
const STEP_BYTES = 2 ** 20;

/** The memory for the answers that arrive on all connections of one store. */
export function answersOfStore(): SharedAllowance {
  return new SharedAllowance(2 * MAX_BYTES);
}

/** The memory that the present answer on one connection takes. */
export class AnswerMemory {
  readonly #share: Share;
  #maxBytes: number = MAX_GREETING_BYTES;
  #takenBytes = 0;
  #reservedBytes = STEP_BYTES;

  constructor(answers: SharedAllowance) {
    this.#share = answers.share();
  }

  /** The login has succeeded: from the next answer on, answers may be long. */
  allowLongAnswers(): void {
    this.#maxBytes = MAX_BYTES;
  }

  get allowsLongAnswers(): boolean {
    return this.#maxBytes === MAX_BYTES;
  }

  /**
   * Bytes of the answer have arrived, or a message of this length begins.
   *
   * @throws An `ExchangeError` (`malformed`) if the answer, or the answers on all connections
   *   together, take too much.
   */
  take(bytes: number): void {
    this.#takenBytes += bytes;
    if (this.#takenBytes > this.#maxBytes) throw tooMuch(`an answer takes more than ${this.#maxBytes} bytes of memory`);
    while (this.#takenBytes > this.#reservedBytes) this.#reserve();
  }

  /** A row of the answer was read. Throws as `take` does. */
  takeRow(row: Row): void {
    this.take((1 + row.length) * PART_BYTES);
  }

  /** The answer is complete, or nobody waits for it. */
  release(): void {
    this.#share.release();
    this.#takenBytes = 0;
    this.#reservedBytes = STEP_BYTES;
  }

  #reserve(): void {
    try {
      this.#share.take(STEP_BYTES);
      this.#reservedBytes += STEP_BYTES;
    } catch (error) {
      throw error instanceof AnswersTooLarge ? tooMuch(error.message, error) : error;
    }
  }
}

function tooMuch(message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, message, cause);
}
