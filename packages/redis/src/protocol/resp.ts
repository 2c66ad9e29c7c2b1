/**
 * RESP, the protocol of Redis: requests, and the values of replies. Version 3, in which a server
 * may also push messages. `reader.ts` finds the replies in a stream.
 */

/**
 * A reply of a server. Bulk strings are bytes, simple strings are text. A set is a list, and a map
 * is the list of its keys and values. Bytes and lists are views of the message that has arrived,
 * which is freed soon: copy what you keep.
 */
export type Reply = Uint8Array | string | number | boolean | null | ErrorReply | ReplyList;

/**
 * The items of a list. Lists of a server decode their items one by one, each time they are read.
 */
export interface ReplyList extends Iterable<Reply> {
  readonly length: number;
}

/** An error reply: `WRONGPASS invalid username-password pair or user is disabled.` */
export class ErrorReply {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The first word of the text. */
  get code(): string {
    return this.text.split(' ', 1)[0] ?? '';
  }
}

export function isList(reply: Reply): reply is ReplyList {
  return Array.isArray(reply) || reply instanceof EncodedList;
}

export const CRLF = '\r\n';

export function encodeRequest(args: readonly (string | Uint8Array)[]): Uint8Array {
  const parts: Buffer[] = [Buffer.from(`*${args.length}${CRLF}`)];
  for (const arg of args) {
    const bytes = Buffer.from(arg);
    parts.push(Buffer.from(`$${bytes.length}${CRLF}`), bytes, Buffer.from(CRLF));
  }
  return Buffer.concat(parts);
}

/**
 * The first line of a value. `bulk`: the string has `length` bytes and a CRLF after the line.
 * `list`: `length` items follow. An attribute is extra information about the next value, and is
 * skipped.
 */
export type Head =
  | { readonly kind: 'value'; readonly value: Reply }
  | { readonly kind: 'bulk'; readonly length: number; readonly read: (bytes: Uint8Array) => Reply }
  | { readonly kind: 'list' | 'push' | 'attribute'; readonly length: number };

const NULL: Head = { kind: 'value', value: null };

/** `line` is the text after the first byte. Throws a `TypeError` for a line that is not RESP. */
export function headOf(firstByte: number | undefined, line: string): Head {
  const type = typeOf(firstByte);
  switch (type) {
    case '+':
      return { kind: 'value', value: line };
    case '-':
      return { kind: 'value', value: new ErrorReply(line) };
    case '_':
      return NULL;
    case '#':
      return { kind: 'value', value: line === 't' };
    case ':':
      if (!/^[+-]?\d+$/.test(line)) throw new TypeError('a number has other characters than digits');
      return { kind: 'value', value: Number(line) };
    case ',':
    case '(':
      return { kind: 'value', value: Number(line) };
    case '$':
      return withLength(line, (length) => ({ kind: 'bulk', length, read: (bytes) => bytes }));
    case '!':
      return withLength(line, (length) => ({ kind: 'bulk', length, read: (bytes) => new ErrorReply(Buffer.from(bytes).toString()) }));
    case '=':
      // A verbatim string begins with a format of three letters and a colon.
      return withLength(line, (length) => ({ kind: 'bulk', length, read: (bytes) => bytes.subarray(4) }));
    case '*':
    case '~':
      return withLength(line, (length) => ({ kind: 'list', length }));
    case '%':
      return withLength(line, (length) => ({ kind: 'list', length: 2 * length }));
    case '>':
      return withLength(line, (length) => ({ kind: 'push', length }));
    case '|':
      return withLength(line, (length) => ({ kind: 'attribute', length: 2 * length }));
    default:
      return type satisfies never;
  }
}

const TYPES = ['+', '-', ':', '$', '*', '_', ',', '#', '!', '=', '(', '%', '~', '>', '|'] as const;

/** Throws a `TypeError` for a byte that begins no value. */
export function typeOf(byte: number | undefined): (typeof TYPES)[number] {
  const letter = String.fromCharCode(byte ?? 0);
  const type = TYPES.find((known) => known === letter);
  if (type === undefined) throw new TypeError(`a reply begins with byte ${byte}`);
  return type;
}

/** A length of -1 is null in version 2 of the protocol. */
function withLength(line: string, headWith: (length: number) => Head): Head {
  if (line === '-1') return NULL;
  const length = Number(line);
  if (!/^\d+$/.test(line) || !Number.isSafeInteger(2 * length)) throw new TypeError('a length is not a number');
  return headWith(length);
}

/** The value of a message that has arrived completely. `Reader` has checked the message. */
export function decode(message: Uint8Array): Reply {
  return new Decoder(message, 0).next();
}

class EncodedList implements ReplyList {
  readonly length: number;
  readonly #message: Uint8Array;
  readonly #from: number;

  constructor(message: Uint8Array, from: number, length: number) {
    this.#message = message;
    this.#from = from;
    this.length = length;
  }

  *[Symbol.iterator](): Iterator<Reply> {
    const decoder = new Decoder(this.#message, this.#from);
    for (let index = 0; index < this.length; index += 1) yield decoder.next();
  }
}

class Decoder {
  readonly #message: Buffer;
  #at: number;

  constructor(message: Uint8Array, at: number) {
    this.#message = Buffer.from(message.buffer, message.byteOffset, message.length);
    this.#at = at;
  }

  next(): Reply {
    const head = this.#head();
    switch (head.kind) {
      case 'value':
        return head.value;
      case 'bulk':
        return head.read(this.#bytes(head.length));
      case 'attribute':
        this.#skip(head.length);
        return this.next();
      case 'list':
      case 'push': {
        const from = this.#at;
        this.#skip(head.length);
        return new EncodedList(this.#message, from, head.length);
      }
      default:
        return head satisfies never;
    }
  }

  /** Moves behind so many values, and behind those within them. */
  #skip(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const head = this.#head();
      if (head.kind === 'bulk') this.#bytes(head.length);
      else if (head.kind !== 'value') left += head.length;
      // An attribute is no value of its own.
      if (head.kind === 'attribute') left += 1;
    }
  }

  #head(): Head {
    const newline = this.#message.indexOf(CRLF, this.#at);
    if (newline < 0) throw new TypeError('a message ends too early');
    const head = headOf(this.#message[this.#at], this.#message.toString('utf8', this.#at + 1, newline));
    this.#at = newline + CRLF.length;
    return head;
  }

  #bytes(length: number): Uint8Array {
    const from = this.#at;
    this.#at = from + length + CRLF.length;
    return new Uint8Array(this.#message.buffer, this.#message.byteOffset + from, length);
  }
}
