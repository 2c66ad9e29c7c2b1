/**
 * Bytes that arrive in pieces, in one buffer. A list of the pieces would take over 100 bytes for each piece, and a hostile server sends
 * pieces of one byte.
 */
export class ByteBuffer {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  /** Memory for all `capacity` bytes is set aside now; the system provides the pages as bytes arrive. */
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

  /** Copies as many bytes of `chunk` as there is room for. Returns the rest of `chunk`. */
  fill(chunk: Uint8Array): Uint8Array {
    const room = this.#bytes.length - this.#length;
    const taken = chunk.length <= room ? chunk : chunk.subarray(0, room);
    this.#bytes.set(taken, this.#length);
    this.#length += taken.length;
    return chunk.subarray(taken.length);
  }

  /** Makes room for `capacity` bytes in all. Views from before are empty after it: the smaller buffer is freed at once. */
  grow(capacity: number): void {
    this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(capacity));
  }

  /** Empties the buffer, and keeps its memory. */
  clear(): void {
    this.#length = 0;
  }
}
