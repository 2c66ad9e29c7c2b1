/** The garbage collector frees shorter answers early enough. */
const FREED_BYTES = 65_536;

/**
 * One buffer for bytes that arrive in pieces. A list of the pieces would take over 100 bytes for
 * each piece, and a hostile server can send pieces of one byte.
 */
export class ByteBuffer {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  /** Reserves `capacity` bytes. The system provides the memory pages as bytes arrive. */
  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  get isFull(): boolean {
    return this.#length === this.#bytes.length;
  }

  get capacity(): number {
    return this.#bytes.length;
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes that have arrived. A view: it changes with the buffer. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Copies as many bytes of `chunk` as fit. Returns the rest of `chunk`. */
  fill(chunk: Uint8Array): Uint8Array {
    const room = this.#bytes.length - this.#length;
    const taken = chunk.length <= room ? chunk : chunk.subarray(0, room);
    this.#bytes.set(taken, this.#length);
    this.#length += taken.length;
    return chunk.subarray(taken.length);
  }

  /**
   * Makes room for `capacity` bytes in total. Frees the smaller buffer: earlier views become empty.
   */
  grow(capacity: number): void {
    this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(capacity));
  }

  /** Frees the memory at once. Do not use the buffer afterwards. */
  free(): void {
    free(this.#bytes);
  }

  /** Empties the buffer, and keeps its memory. */
  clear(): void {
    this.#length = 0;
  }
}

/**
 * Frees the memory of a long answer at once: hostile servers send long answers faster than the
 * garbage collector runs. Every view of the answer becomes empty. Does nothing to an answer that is
 * a part of a larger buffer, or shorter than `fromBytes`. A message of a `Deframer` is either in a
 * buffer of its own or a part of a chunk, so freeing it never takes a chunk from whoever made the
 * stream.
 */
export function free(bytes: Uint8Array, fromBytes: number = FREED_BYTES): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength && bytes.byteLength >= fromBytes) buffer.transfer(0);
}
