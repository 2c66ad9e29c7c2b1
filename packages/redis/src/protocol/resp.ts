/** RESP, the protocol of Redis: writes requests and reads replies. Version 3, in which a server may also push messages. */

import { ByteBuffer, MAX_ANSWER_BYTES, MAX_GREETING_BYTES, PART_BYTES, type Share, SharedAllowance } from '@incumbent/network';

/** A reply of a server. Bulk strings are bytes, simple strings are text. A set is a list, and a map is the list of its keys and values. */
export type Reply = Uint8Array | string | number | boolean | null | ErrorReply | readonly Reply[];

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

export function isList(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}

/** The answer to the oldest request in flight, or a push message, which answers no request. */
export interface Message {
  readonly isPush: boolean;
  readonly reply: Reply;
}

const CRLF = '\r\n';
const [CR, LF] = [13, 10];

/** The longest line outside of a bulk string. Errors are the longest lines. */
const MAX_LINE_BYTES = 65_536;
/** Answers of our scripts have four levels of lists. */
const MAX_DEPTH = 64;

const FIRST_BYTES = 16_384;
/** A buffer that has grown beyond this is replaced by a small one when it is empty. */
const KEPT_BYTES = 262_144;

export function encodeRequest(args: readonly (string | Uint8Array)[]): Uint8Array {
  const parts: Buffer[] = [Buffer.from(`*${args.length}${CRLF}`)];
  for (const arg of args) {
    const bytes = Buffer.from(arg);
    parts.push(Buffer.from(`$${bytes.length}${CRLF}`), bytes, Buffer.from(CRLF));
  }
  return Buffer.concat(parts);
}

/** A list whose items are arriving. */
interface Open {
  readonly isPush: boolean;
  /** An attribute is extra information about the next reply. It is read and ignored. */
  readonly isAttribute: boolean;
  readonly items: Reply[];
  left: number;
}

type BulkKind = '$' | '!' | '=';

/** A string that has not arrived completely. */
interface ArrivingBulk {
  readonly kind: BulkKind;
  /** Room for the string and its CRLF. */
  readonly bytes: ByteBuffer;
}

/**
 * Reads the bytes of one connection, in chunks of any size. Besides the reply that is arriving, it
 * keeps at most one line.
 */
export class Reader {
  #bytes = Buffer.alloc(FIRST_BYTES);
  #start = 0;
  #end = 0;
  readonly #open: Open[] = [];
  #bulk: ArrivingBulk | undefined;
  readonly #share: Share;
  #maxBytes = MAX_GREETING_BYTES;
  /** The bytes that the reply that is arriving may still take. */
  #left = MAX_GREETING_BYTES;

  /** From now on, a reply may take 17 MiB instead of 256 KiB. */
  allowLongAnswers(): void {
    this.#left += MAX_ANSWER_BYTES - this.#maxBytes;
    this.#maxBytes = MAX_ANSWER_BYTES;
  }

  /** The reply that is arriving counts against `answers`, which several readers may share. */
  constructor(answers: SharedAllowance = new SharedAllowance()) {
    this.#share = answers.share();
  }

  /**
   * Returns the messages that this chunk completes. Throws a `TypeError` for bytes that are not RESP
   * and for a reply that would take too much memory, and `AnswersTooLarge` if the replies of all
   * readers would. The reader is of no use after an error.
   */
  push(chunk: Uint8Array): readonly Message[] {
    const messages: Message[] = [];
    let step = this.#fill(chunk);
    while (step !== 'more') {
      if (step !== 'next') messages.push(step);
      step = this.#step();
    }
    return messages;
  }

  /** Frees the reply that is arriving. */
  close(): void {
    this.#bulk?.bytes.free();
    this.#bulk = undefined;
    this.#open.length = 0;
    this.#share.release();
  }

  /** Adds the chunk to the string that is arriving, and keeps the rest of the chunk. */
  #fill(chunk: Uint8Array): Message | 'more' | 'next' {
    const bulk = this.#bulk;
    if (bulk === undefined) {
      this.#append(chunk);
      return 'next';
    }
    const rest = bulk.bytes.fill(chunk);
    if (!bulk.bytes.isFull) return 'more';
    this.#append(rest);
    this.#bulk = undefined;
    const length = bulk.bytes.length - CRLF.length;
    checkEnd(bulk.bytes.bytes, length);
    return this.#string(bulk.kind, bulk.bytes.bytes.subarray(0, length));
  }

  #append(chunk: Uint8Array): void {
    const length = this.#end - this.#start;
    if (length === 0 && this.#bytes.length > KEPT_BYTES) [this.#bytes, this.#start, this.#end] = [Buffer.alloc(FIRST_BYTES), 0, 0];
    if (this.#end + chunk.length > this.#bytes.length) {
      const roomier = length + chunk.length > this.#bytes.length / 2 ? Buffer.alloc(2 * (length + chunk.length)) : this.#bytes;
      this.#bytes.copy(roomier, 0, this.#start, this.#end);
      [this.#bytes, this.#start, this.#end] = [roomier, 0, length];
    }
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Reads one value, or the header of a list, from the buffer. */
  #step(): Message | 'more' | 'next' {
    const newline = this.#bytes.subarray(0, this.#end).indexOf(CRLF, this.#start);
    if (newline < 0) {
      if (this.#end - this.#start > MAX_LINE_BYTES) throw new TypeError('a line is too long');
      if (this.#end > this.#start) kindOf(this.#bytes[this.#start]);
      return 'more';
    }
    const kind = kindOf(this.#bytes[this.#start]);
    const line = this.#bytes.toString('utf8', this.#start + 1, newline);
    const after = newline + CRLF.length;
    if (kind === '$' || kind === '!' || kind === '=') return this.#onBulk(kind, line, after);
    this.#start = after;
    if (kind === '*' || kind === '~' || kind === '>' || kind === '%' || kind === '|') return this.#list(kind, line);
    this.#take(line.length);
    return this.#value(simple(kind, line));
  }

  /** Copies a string that is complete, because the buffer is used again. Any other gets a buffer of its own, of the announced length. */
  #onBulk(kind: BulkKind, line: string, from: number): Message | 'more' | 'next' {
    const length = lengthOf(line, this.#left - PART_BYTES);
    if (length === undefined) {
      this.#start = from;
      return this.#value(null);
    }
    this.#take(length);
    const to = from + length + CRLF.length;
    if (this.#end >= to) {
      checkEnd(this.#bytes, from + length);
      this.#start = to;
      return this.#string(kind, new Uint8Array(this.#bytes.subarray(from, from + length)));
    }
    const bytes = new ByteBuffer(length + CRLF.length);
    bytes.fill(this.#bytes.subarray(from, this.#end));
    this.#start = this.#end;
    this.#bulk = { kind, bytes };
    return 'more';
  }

  #string(kind: BulkKind, bytes: Uint8Array): Message | 'next' {
    if (kind === '!') return this.#value(new ErrorReply(Buffer.from(bytes).toString()));
    // A verbatim string begins with a format of three letters and a colon.
    return this.#value(kind === '=' ? bytes.subarray(4) : bytes);
  }

  #list(kind: '*' | '~' | '>' | '%' | '|', line: string): Message | 'next' {
    const length = lengthOf(line, this.#left / PART_BYTES);
    if (length === undefined) return this.#value(null);
    const left = kind === '%' || kind === '|' ? 2 * length : length;
    this.#take(PART_BYTES);
    const open = { isPush: kind === '>', isAttribute: kind === '|', items: [], left };
    if (left === 0) return this.#close(open);
    if (this.#open.length === MAX_DEPTH) throw new TypeError('lists are nested too deeply');
    this.#open.push(open);
    return 'next';
  }

  #take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new TypeError('a reply would take too much memory');
    this.#share.take(bytes);
  }

  #complete(isPush: boolean, reply: Reply): Message {
    this.#left = this.#maxBytes;
    this.#share.release();
    return { isPush, reply };
  }

  #value(reply: Reply): Message | 'next' {
    const top = this.#open.at(-1);
    if (top === undefined) return this.#complete(false, reply);
    this.#take(PART_BYTES);
    top.items.push(reply);
    top.left -= 1;
    if (top.left > 0) return 'next';
    this.#open.pop();
    return this.#close(top);
  }

  #close({ isPush, isAttribute, items }: Open): Message | 'next' {
    if (isAttribute) return 'next';
    return isPush ? this.#complete(isPush, items) : this.#value(items);
  }
}

const KINDS = ['+', '-', ':', '$', '*', '_', ',', '#', '!', '=', '(', '%', '~', '>', '|'] as const;
type Kind = (typeof KINDS)[number];

function kindOf(byte: number | undefined): Kind {
  const letter = String.fromCharCode(byte ?? 0);
  const kind = KINDS.find((known) => known === letter);
  if (kind === undefined) throw new TypeError(`a reply begins with byte ${byte}`);
  return kind;
}

function simple(kind: '+' | '-' | ':' | '_' | ',' | '#' | '(', line: string): Reply {
  switch (kind) {
    case '+':
      return line;
    case '-':
      return new ErrorReply(line);
    case '_':
      return null;
    case '#':
      return line === 't';
    case ':':
      if (!/^[+-]?\d+$/.test(line)) throw new TypeError('a number has other characters than digits');
      return Number(line);
    case ',':
    case '(':
      return Number(line);
    default:
      return kind satisfies never;
  }
}

function checkEnd(bytes: Uint8Array, at: number): void {
  if (bytes[at] !== CR || bytes[at + 1] !== LF) throw new TypeError('a string does not end with CRLF');
}

/** Undefined for -1, which is null in version 2 of the protocol. */
function lengthOf(line: string, max: number): number | undefined {
  if (line === '-1') return undefined;
  const length = Number(line);
  if (!/^\d+$/.test(line) || length > max) throw new TypeError('a length is not a number, or is too large');
  return length;
}
