/**
 * The wire format of protocol buffers (proto3), as far as etcd's messages need it. Numbers are
 * bigint, because a varint contains an int64.
 */

import { Allowance, PART_BYTES } from '@incumbent/network';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/**
 * A field counts as this many bytes in addition to its value, because reading it takes time. A key
 * with its seven fields then counts as 1 KiB, like an entry of the longest list.
 */
const FIELD_BYTES = 96;

/** Ten groups of seven bits contain 64 bits. The last group contains one of them. */
const MAX_VARINT_BYTES = 10;

const EMPTY = new Uint8Array(0);
const decoder = new TextDecoder();

/** The bytes are not a message of the expected type, or the message is incomplete. */
export class MalformedMessage extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedMessage';
  }
}

/** The message is longer than this client reads, or has more parts. Correct servers may send it. */
export class TooLongMessage extends MalformedMessage {}

/**
 * Builds one message. Writes every field that is named, also with its default value, which matters
 * only in a `oneof`.
 */
export class Writer {
  /** From Node's pool, as most messages are short. */
  #buffer = Buffer.allocUnsafe(128);
  #length = 0;

  int64(field: number, value: bigint): this {
    this.#tag(field, VARINT);
    this.#varint(BigInt.asUintN(64, value));
    return this;
  }

  bool(field: number, value: boolean): this {
    this.#tag(field, VARINT);
    this.#number(value ? 1 : 0);
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.#part(field, value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  string(field: number, value: string): this {
    const length = Buffer.byteLength(value);
    this.#part(field, length);
    this.#buffer.write(value, this.#length);
    this.#length += length;
    return this;
  }

  message(field: number, message: Writer): this {
    return this.bytes(field, message.#buffer.subarray(0, message.#length));
  }

  finish(): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(0, this.#length));
  }

  /** Begins a field of so many bytes, and makes room for them. */
  #part(field: number, bytes: number): void {
    this.#tag(field, BYTES);
    this.#number(bytes);
    this.#reserve(bytes);
  }

  #tag(field: number, wireType: number): void {
    this.#number(field * 8 + wireType);
  }

  /** A varint of a whole number from 0 to 2^32 - 1. */
  #number(value: number): void {
    this.#reserve(MAX_VARINT_BYTES);
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#put((rest & 0x7f) | 0x80);
    this.#put(rest);
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
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}

/**
 * Reads one message, field by field. Skips a value that the caller does not read, so that fields of
 * newer servers are ignored. Throws {@link MalformedMessage} if the input is incomplete, if a known
 * field has another type, or if there are more parts than any answer has. Never reads past the end.
 */
export class Reader {
  readonly #bytes: Uint8Array;
  /** Shared by all messages of one answer. */
  readonly #allowance: Allowance;
  #position = 0;
  /** The wire type of a value that was not read yet. */
  #untaken: number | undefined;

  constructor(bytes: Uint8Array, allowance: Allowance = new Allowance()) {
    this.#allowance = allowance;
    // A Uint8Array, because `slice` of a Buffer does not copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The number of the next field. Undefined at the end of the message. */
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
    return decoder.decode(this.#view());
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
    if (!this.#allowance.take(bytes)) throw new TooLongMessage('the message has more parts than any answer');
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
