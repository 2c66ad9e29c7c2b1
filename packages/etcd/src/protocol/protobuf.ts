/** Protocol buffers' wire format (proto3): as much of it as etcd's messages need. A varint carries an int64, so numbers are bigint. */

import { Allowance, PART_BYTES } from '@incumbent/network';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/**
 * What a field counts for besides its value, as reading it takes time. A key and value with its seven fields counts as 1 KiB so, as
 * an entry of the longest list does.
 */
const FIELD_BYTES = 96;

/** Ten groups of seven bits hold 64 bits, the last group one of them. */
const MAX_VARINT_BYTES = 10;

const EMPTY = new Uint8Array(0);

/** What was received is no message: cut short, or not of the type that was expected. */
export class MalformedMessage extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedMessage';
  }
}

/** Builds one message. Every field that is named is written, its default too: a reader cannot tell the difference, but in a `oneof`. */
export class Writer {
  #buffer = new Uint8Array(64);
  #length = 0;

  int64(field: number, value: bigint): this {
    this.#tag(field, VARINT);
    this.#varint(BigInt.asUintN(64, value));
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int64(field, value ? 1n : 0n);
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, BYTES);
    this.#varint(BigInt(value.length));
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  string(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field: number, message: Writer): this {
    return this.bytes(field, message.finish());
  }

  finish(): Uint8Array {
    return this.#buffer.slice(0, this.#length);
  }

  #tag(field: number, wireType: number): void {
    this.#varint(BigInt(field * 8 + wireType));
  }

  #varint(value: bigint): void {
    this.#reserve(MAX_VARINT_BYTES);
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) this.#put(Number(rest & 0x7fn) | 0x80);
    this.#put(Number(rest));
  }

  #put(byte: number): void {
    this.#buffer[this.#length] = byte;
    this.#length += 1;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}

/**
 * Reads one message, field by field. A value that is not taken is skipped, so that fields of newer servers do no harm. Throws
 * {@link MalformedMessage} on input that is cut short, on a known field of another type, and on more parts than an answer has; it never reads past the
 * end.
 */
export class Reader {
  readonly #bytes: Uint8Array;
  /** Of the whole answer, which this message may be a part of. */
  readonly #allowance: Allowance;
  #position = 0;
  /** The wire type of a value that nobody has taken yet. */
  #untaken: number | undefined;

  constructor(bytes: Uint8Array, allowance: Allowance = new Allowance()) {
    this.#allowance = allowance;
    // A plain view: a Buffer's own `slice` would not copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The number of the next field; undefined at the end of the message. */
  next(): number | undefined {
    if (this.#untaken !== undefined) this.#skip(this.#untaken);
    this.#untaken = undefined;
    if (this.#position === this.#bytes.length) return undefined;
    this.#allow(FIELD_BYTES);
    const tag = this.#varint();
    const field = Number(tag >> 3n);
    if (field === 0 || field >= 2 ** 29) throw new MalformedMessage(`no field has the number ${field}`);
    this.#untaken = Number(tag & 7n);
    return field;
  }

  int64(): bigint {
    this.#take(VARINT);
    return BigInt.asIntN(64, this.#varint());
  }

  bool(): boolean {
    return this.int64() !== 0n;
  }

  /** A copy, so that a small value does not keep a large answer in memory. */
  bytes(): Uint8Array {
    return this.#view().slice();
  }

  string(): string {
    return new TextDecoder().decode(this.#view());
  }

  message(): Reader {
    return new Reader(this.#view(), this.#allowance);
  }

  #view(): Uint8Array {
    this.#take(BYTES);
    this.#allow(PART_BYTES);
    return this.#chunk(this.#varint());
  }

  #allow(bytes: number): void {
    if (!this.#allowance.take(bytes)) throw new MalformedMessage('the message has more parts than any answer');
  }

  #take(wireType: number): void {
    if (this.#untaken !== wireType) throw new MalformedMessage(`a value of wire type ${this.#untaken} stands where ${wireType} belongs`);
    this.#untaken = undefined;
  }

  #skip(wireType: number): void {
    if (wireType === VARINT) this.#varint();
    else if (wireType === FIXED64) this.#chunk(8n);
    else if (wireType === FIXED32) this.#chunk(4n);
    else if (wireType === BYTES) this.#chunk(this.#varint());
    else throw new MalformedMessage(`there is no wire type ${wireType}`);
  }

  #chunk(length: bigint): Uint8Array {
    const left = this.#bytes.length - this.#position;
    if (length > BigInt(left)) throw new MalformedMessage(`${length} bytes are announced where ${left} are left`);
    if (length === 0n) return EMPTY;
    const start = this.#position;
    this.#position += Number(length);
    return this.#bytes.subarray(start, this.#position);
  }

  #varint(): bigint {
    let value = 0n;
    for (let i = 0; i < MAX_VARINT_BYTES; i += 1) {
      const byte = this.#bytes[this.#position];
      if (byte === undefined) throw new MalformedMessage('the message ends within a number');
      this.#position += 1;
      if (i === 0 && byte < 0x80) return BigInt(byte);
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return this.#fitting(value);
    }
    throw new MalformedMessage('a number has more than 64 bits');
  }

  #fitting(value: bigint): bigint {
    if (value >= 2n ** 64n) throw new MalformedMessage('a number has more than 64 bits');
    return value;
  }
}
