import { checkPieces, type Share, SharedAllowance } from './allowance.ts';
import { ByteBuffer } from './byte-buffer.ts';

/**
 * A protocol whose messages have a header of fixed length, which contains the length of the
 * message.
 */
export interface Framing {
  readonly headerBytes: number;
  /**
   * The length of the message after this header, in bytes.
   *
   * @throws An error of the protocol if no message is that long.
   */
  lengthIn(header: Uint8Array): number;
}

/**
 * Finds the messages in a stream of bytes that arrives in chunks. Keeps at most one header and one
 * message: a message that arrives in several chunks gets one buffer of its announced length.
 */
export class Deframer {
  readonly #framing: Framing;
  readonly #share: Share;
  readonly #header: ByteBuffer;
  /** The message that is arriving; undefined between messages. */
  #message: ByteBuffer | undefined;
  /** The length of a message that waits for memory, and the bytes behind its header. */
  #waiting: { readonly length: number; readonly rest: Uint8Array } | undefined;
  #pieces = 0;
  #isClosed = false;

  /** `answers` counts the message that is arriving, until it is handed out. */
  constructor(framing: Framing, answers: SharedAllowance = new SharedAllowance()) {
    this.#framing = framing;
    this.#share = answers.share();
    this.#header = new ByteBuffer(framing.headerBytes);
  }

  /**
   * Takes the next chunk, and yields the messages that are complete.
   *
   * @throws `TinyPieces`, `AnswersTooLarge`, or the error of the framing. After `AnswersTooLarge`,
   * either close the deframer, or call `retry`, before the next chunk.
   */
  *push(chunk: Uint8Array): Generator<Uint8Array, void, void> {
    let rest = chunk;
    for (;;) {
      if (this.#message === undefined) {
        rest = this.#header.fill(rest);
        if (!this.#header.isFull) return;
        const length = this.#framing.lengthIn(this.#header.bytes);
        this.#header.clear();
        if (length <= rest.length) {
          const message = rest.subarray(0, length);
          rest = rest.subarray(length);
          yield message;
          // The consumer of a message may close the deframer.
          if (this.#isClosed) return;
          continue;
        }
        this.#waiting = { length, rest };
        this.#begin(length);
      }
      rest = this.#fill(rest);
      if (this.#message?.isFull !== true) return;
      const { bytes } = this.#message;
      this.#message = undefined;
      this.#reset();
      yield bytes;
      if (this.#isClosed) return;
    }
  }

  /** Whether the last step has thrown `AnswersTooLarge` for the message that is arriving. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  /**
   * Continues after `AnswersTooLarge`.
   *
   * @throws `AnswersTooLarge` again if the memory is still too little.
   */
  *retry(): Generator<Uint8Array, void, void> {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#isClosed) return;
    this.#begin(waiting.length);
    yield* this.push(waiting.rest);
  }

  /** Adds to the message that is arriving. Returns the bytes behind it. */
  #fill(chunk: Uint8Array): Uint8Array {
    if (this.#message === undefined) return chunk;
    const rest = this.#message.fill(chunk);
    this.#pieces += 1;
    checkPieces(this.#pieces, this.#message.length);
    return rest;
  }

  #begin(length: number): void {
    this.#share.take(length);
    this.#waiting = undefined;
    this.#message = new ByteBuffer(length);
  }

  /** Frees the message that is arriving. Yields no more messages. */
  close(): void {
    this.#isClosed = true;
    this.#reset();
  }

  #reset(): void {
    this.#message?.free();
    this.#message = undefined;
    this.#waiting = undefined;
    this.#pieces = 0;
    this.#share.release();
  }
}
