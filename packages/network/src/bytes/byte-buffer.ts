/** Smaller answers are left to the garbage collector. */
const FREED_BYTES = 65_536;

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

  /** Gives the memory back at once. The buffer is of no use after it. */
  free(): void {
    free(this.#bytes);
  }

  /** Empties the buffer, and keeps its memory. */
  clear(): void {
    this.#length = 0;
  }
}

/**
 * Gives the memory of an answer back at once, where no other view needs it. Hostile servers send long answers faster than the garbage
 * collector looks for them. The bytes are gone after it, also for whoever else has this view.
 */
export function free(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength && bytes.byteLength >= FREED_BYTES) buffer.transfer(0);
}
