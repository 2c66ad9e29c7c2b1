import { type Share, SharedAllowance, TinyPieces } from './allowance.ts';
import { ByteBuffer } from './byte-buffer.ts';

/** How a protocol marks where a message ends: a header of fixed length says how long the message is that follows. */
export interface Framing {
  readonly headerBytes: number;
  /** The length of the message after this header, in bytes. Throws where no message is that long. */
  lengthIn(header: Uint8Array): number;
}

/** So many pieces of one message may be of any size. */
const FREE_PIECES = 1_024;
/** The pieces of a message with more of them have so many bytes on average. No network cuts messages so small. */
const MIN_PIECE_BYTES = 16;

/**
 * Finds the messages in a stream of bytes, however the stream was cut into chunks. Keeps at most one header and one message: a message
 * that arrives in several chunks gets one buffer of the announced length, however small the chunks are.
 */
export class Deframer {
  readonly #framing: Framing;
  readonly #share: Share;
  readonly #header: ByteBuffer;
  /** The message that is arriving; undefined between messages. */
  #message: ByteBuffer | undefined;
  #pieces = 0;
  #isClosed = false;

  /** What the message that is arriving takes counts against `answers`. A message that was handed out no longer counts. */
  constructor(framing: Framing, answers: SharedAllowance = new SharedAllowance()) {
    this.#framing = framing;
    this.#share = answers.share();
    this.#header = new ByteBuffer(framing.headerBytes);
  }

  /** Takes the next bytes; yields the messages that are whole now. Throws what the framing throws, `AnswersTooLarge` and `TinyPieces`. */
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
          // Whoever takes a message may close the reader.
          if (this.#isClosed) return;
          continue;
        }
        this.#share.take(length);
        this.#message = new ByteBuffer(length);
      }
      rest = this.#message.fill(rest);
      this.#pieces += 1;
      if ((this.#pieces - FREE_PIECES) * MIN_PIECE_BYTES > this.#message.length) throw new TinyPieces();
      if (!this.#message.isFull) return;
      const { bytes } = this.#message;
      this.#message = undefined;
      this.#reset();
      yield bytes;
      if (this.#isClosed) return;
    }
  }

  /** Forgets the message that is arriving, and takes no more. */
  close(): void {
    this.#isClosed = true;
    this.#reset();
  }

  #reset(): void {
    this.#message?.free();
    this.#message = undefined;
    this.#pieces = 0;
    this.#share.release();
  }
}
