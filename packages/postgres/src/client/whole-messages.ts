/**
 * Cuts what a server sends into pieces that hold whole messages. The parser of `pg` keeps a message
 * that arrives in several chunks in buffers of doubling size, which only the garbage collector
 * frees. Here, such a message gets one buffer of its announced length, which is freed at once.
 */

import { ByteBuffer, checkPieces } from '@incumbent/network';

/** A message begins with its type, and with its length, which does not count the type. */
const HEADER_BYTES = 5;

export interface WholeMessagesOptions {
  /** The memory of complete messages, or of the next one, which is arriving. May throw. */
  readonly take: (bytes: number) => void;
  /** Receives whole messages, in the order of arrival. Must copy what it keeps of long ones. */
  readonly deliver: (messages: Buffer) => void;
}

/** The messages of one connection. */
export class WholeMessages {
  readonly #options: WholeMessagesOptions;
  /** The header of a message, or the message itself, which is arriving. */
  #partial: ByteBuffer | undefined;
  #pieces = 0;

  constructor(options: WholeMessagesOptions) {
    this.#options = options;
  }

  /**
   * Takes the next chunk.
   *
   * @throws What `take` and `deliver` throw, `TinyPieces`, and a `RangeError` for a message that is
   *   shorter than any.
   */
  push(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#partial === undefined ? this.#pass(rest) : this.#fill(this.#partial, rest);
  }

  /** The memory of the message that is arriving. */
  get partialBytes(): number {
    return this.#partial?.capacity ?? 0;
  }

  /** Frees the message that is arriving. */
  close(): void {
    this.#partial?.free();
    this.#partial = undefined;
  }

  /** Delivers the messages that are complete. Returns what is left after beginning another one. */
  #pass(chunk: Uint8Array): Uint8Array {
    let end = 0;
    let next = lengthAt(chunk, end);
    while (next !== undefined && end + next <= chunk.length) {
      end += next;
      next = lengthAt(chunk, end);
    }
    if (end > 0) this.#deliver(chunk.subarray(0, end));
    if (end === chunk.length) return chunk.subarray(end);
    if (next !== undefined) this.#options.take(next);
    this.#partial = new ByteBuffer(next ?? HEADER_BYTES);
    this.#pieces = 0;
    return chunk.subarray(end);
  }

  #fill(partial: ByteBuffer, chunk: Uint8Array): Uint8Array {
    const rest = partial.fill(chunk);
    this.#pieces += 1;
    checkPieces(this.#pieces, partial.length);
    if (!partial.isFull) return rest;
    const length = lengthAt(partial.bytes, 0) ?? HEADER_BYTES;
    if (length > partial.capacity) {
      this.#options.take(length);
      partial.grow(length);
      return rest;
    }
    this.#partial = undefined;
    this.#options.deliver(bufferOf(partial.bytes));
    partial.free();
    return rest;
  }

  #deliver(messages: Uint8Array): void {
    this.#options.take(messages.length);
    this.#options.deliver(bufferOf(messages));
  }
}

/** The length of the message that begins at `at`. Undefined if its header is not complete. */
function lengthAt(bytes: Uint8Array, at: number): number | undefined {
  if (bytes.length - at < HEADER_BYTES) return undefined;
  const length = bufferOf(bytes).readUInt32BE(at + 1);
  if (length < HEADER_BYTES - 1) throw new RangeError(`a message of ${length} bytes`);
  return 1 + length;
}

/** The same bytes, as `pg` reads them. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
