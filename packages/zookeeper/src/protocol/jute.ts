/**
 * Jute, ZooKeeper's record format. Numbers have a fixed width and are big-endian; a string, a
 * buffer and a vector are preceded by their length. A long is a bigint.
 */

import { Allowance, free, PART_BYTES } from '@incumbent/network';

/**
 * The most that a server accepts with the default `jute.maxbuffer`. A server that receives more
 * closes the connection without an answer, and then the outcome of the request is unknown.
 */
export const MAX_REQUEST_BYTES: number = 2 ** 20 - 1;

/** The length of a value that is absent. */
const NONE = -1;

/** What a field counts for besides its bytes, because reading a field takes time. */
const FIELD_BYTES = 32;

/** The least bytes of a vector's element: each begins with a number or a length. */
const MIN_ELEMENT_BYTES = 4;

const EMPTY = new Uint8Array(0);

const encoder = new TextEncoder();
/** A byte order mark is part of a name like any other character. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The bytes are not a record: they are too short, or not of the expected kind. */
export class MalformedRecord extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedRecord';
  }
}

/** Builds one record. */
export class Writer {
  #bytes = new Uint8Array(128);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  int(value: number): this {
    const start = this.#advance(4);
    this.#view.setInt32(start, value);
    return this;
  }

  long(value: bigint): this {
    const start = this.#advance(8);
    this.#view.setBigInt64(start, value);
    return this;
  }

  bool(value: boolean): this {
    const start = this.#advance(1);
    this.#bytes[start] = value ? 1 : 0;
    return this;
  }

  buffer(value: Uint8Array): this {
    return this.int(value.length).raw(value);
  }

  /** A value that may be absent. An absent value and an empty one differ. */
  optionalBuffer(value: Uint8Array | undefined): this {
    return value === undefined ? this.int(NONE) : this.buffer(value);
  }

  string(value: string): this {
    return this.buffer(encoder.encode(value));
  }

  vector<T>(items: readonly T[], write: (writer: this, item: T) => void): this {
    this.int(items.length);
    for (const item of items) write(this, item);
    return this;
  }

  /** Bytes without a length before them. */
  raw(value: Uint8Array): this {
    const start = this.#advance(value.length);
    this.#bytes.set(value, start);
    return this;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** Makes room, and returns its offset. May replace the view: call it before using the view. */
  #advance(bytes: number): number {
    const start = this.#length;
    this.#length += bytes;
    if (this.#length > this.#bytes.length) this.#grow();
    return start;
  }

  #grow(): void {
    const grown = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/**
 * Reads the fields of one record in their order. Throws {@link MalformedRecord} if the record ends
 * too early. Never reads past the end, and never allocates more than the record holds, nor more
 * parts than a legitimate answer has. Ignores what is left at the end: newer servers may add
 * fields.
 */
export class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #allowance = new Allowance();
  #position = 0;

  constructor(bytes: Uint8Array) {
    // A plain view, because `slice` of a Buffer does not copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The number of bytes that have not been read. */
  get left(): number {
    return this.#bytes.length - this.#position;
  }

  /** Frees a long record at once. Values that were read are copies; nothing more can be read. */
  free(): void {
    free(this.#bytes);
  }

  int(): number {
    return this.#view.getInt32(this.#advance(4));
  }

  long(): bigint {
    return this.#view.getBigInt64(this.#advance(8));
  }

  bool(): boolean {
    return this.#view.getUint8(this.#advance(1)) !== 0;
  }

  /** A copy, so that a small value does not keep a long record in memory. */
  buffer(): Uint8Array {
    return this.#chunk().slice();
  }

  /** Undefined if the value is absent. */
  optionalBuffer(): Uint8Array | undefined {
    const isThere = this.left < 4 || this.#view.getInt32(this.#position) !== NONE;
    const bytes = this.buffer();
    return isThere ? bytes : undefined;
  }

  /** Throws for a string longer than a request may be: no client can have created such a name. */
  string(): string {
    const bytes = this.#chunk();
    if (bytes.length > MAX_REQUEST_BYTES) throw new MalformedRecord(`a name of ${bytes.length} bytes is longer than any request`);
    return decoder.decode(bytes);
  }

  vector<T>(read: (reader: this) => T): readonly T[] {
    const count = this.#count();
    const items: T[] = [];
    for (let i = 0; i < count; i += 1) items.push(read(this));
    return items;
  }

  #count(): number {
    const count = this.int();
    if (count === NONE) return 0;
    if (count < 0 || count * MIN_ELEMENT_BYTES > this.left)
      throw new MalformedRecord(`${count} elements are announced where ${this.left} bytes are left`);
    return count;
  }

  #chunk(): Uint8Array {
    this.#take(PART_BYTES - FIELD_BYTES);
    const length = this.int();
    if (length === NONE || length === 0) return EMPTY;
    const start = this.#advance(length);
    return this.#bytes.subarray(start, start + length);
  }

  #take(bytes: number): void {
    if (!this.#allowance.take(bytes)) throw new MalformedRecord('the record has more parts than any answer');
  }

  #advance(bytes: number): number {
    if (bytes < 0 || bytes > this.left) throw new MalformedRecord(`${bytes} bytes are announced where ${this.left} are left`);
    this.#take(FIELD_BYTES + bytes);
    const start = this.#position;
    this.#position += bytes;
    return start;
  }
}
