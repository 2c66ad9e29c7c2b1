/** RESP, the protocol of Redis: how requests are written, and how what a server says is read. Version 3, in which a server may also speak unasked. */

import { ByteBuffer, MAX_ANSWER_BYTES, MAX_GREETING_BYTES, PART_BYTES, type Share, SharedAllowance } from '@incumbent/network';

/** An answer of a server. Bulk strings are bytes, simple ones text; a map or a set is the list of what it holds. */
export type Reply = Uint8Array | string | number | boolean | null | ErrorReply | readonly Reply[];

/** An answer that is an error: `WRONGPASS invalid username-password pair or user is disabled.` */
export class ErrorReply {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Its first word. */
  get code(): string {
    return this.text.split(' ', 1)[0] ?? '';
  }
}

export function isList(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}

/** What a server said: the answer to the first request that has none yet, or something unasked. */
export interface Message {
  readonly unasked: boolean;
  readonly reply: Reply;
}

const CRLF = '\r\n';
const [CR, LF] = [13, 10];

/** Of a line that is no bulk string. Errors are the longest. */
const MAX_LINE_BYTES = 65_536;
/** Ours have four. */
const MAX_DEPTH = 64;

const FIRST_BYTES = 16_384;
/** What a long answer has taken is given back after it. */
const KEPT_BYTES = 262_144;

export function encodeRequest(args: readonly (string | Uint8Array)[]): Uint8Array {
  const parts: Buffer[] = [Buffer.from(`*${args.length}${CRLF}`)];
  for (const arg of args) {
    const bytes = Buffer.from(arg);
    parts.push(Buffer.from(`$${bytes.length}${CRLF}`), bytes, Buffer.from(CRLF));
  }
  return Buffer.concat(parts);
}

/** A list whose items are on their way. */
interface Open {
  readonly unasked: boolean;
  /** An attribute is about the reply that follows, which counts for it. */
  readonly dropped: boolean;
  readonly items: Reply[];
  left: number;
}

type BulkKind = '$' | '!' | '=';

/** A string that has not arrived whole. */
interface ArrivingBulk {
  readonly kind: BulkKind;
  /** Of the string and its end. */
  readonly bytes: ByteBuffer;
}

/**
 * Reads what comes in, whatever the pieces. `push` throws a `TypeError` for what is not RESP, and for an answer that would take too much
 * memory; `AnswersTooLarge` where the answers of all readers would. Keeps a line at most, besides the answer that is arriving.
 */
export class Reader {
  #bytes = Buffer.alloc(FIRST_BYTES);
  #start = 0;
  #end = 0;
  readonly #open: Open[] = [];
  #bulk: ArrivingBulk | undefined;
  readonly #share: Share;
  #maxBytes = MAX_GREETING_BYTES;
  /** How much of what one answer may take is left to the one that is on its way. */
  #left = MAX_GREETING_BYTES;

  /** From now on answers may be as long as the longest that is asked for. */
  greeted(): void {
    this.#left += MAX_ANSWER_BYTES - this.#maxBytes;
    this.#maxBytes = MAX_ANSWER_BYTES;
  }

  /** What the answer that is arriving takes counts against `answers`. */
  constructor(answers: SharedAllowance = new SharedAllowance()) {
    this.#share = answers.share();
  }

  push(chunk: Uint8Array): readonly Message[] {
    const messages: Message[] = [];
    let next = this.#fill(chunk);
    while (next !== 'more') {
      if (next !== 'on') messages.push(next);
      next = this.#step();
    }
    return messages;
  }

  /** Forgets the answer that is arriving. */
  close(): void {
    this.#bulk?.bytes.free();
    this.#bulk = undefined;
    this.#open.length = 0;
    this.#share.release();
  }

  /** Gives the chunk to the string that is arriving, and keeps what is left of the chunk. */
  #fill(chunk: Uint8Array): Message | 'more' | 'on' {
    const bulk = this.#bulk;
    if (bulk === undefined) {
      this.#append(chunk);
      return 'on';
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

  /** Takes one value from what is there, or the head of a list. */
  #step(): Message | 'more' | 'on' {
    const newline = this.#bytes.subarray(0, this.#end).indexOf(CRLF, this.#start);
    if (newline < 0) {
      if (this.#end - this.#start > MAX_LINE_BYTES) throw new TypeError('a line without an end');
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

  /** A string that is there whole is copied, as the buffer is used again. Another one gets a buffer of its own, of the announced length. */
  #onBulk(kind: BulkKind, line: string, from: number): Message | 'more' | 'on' {
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

  #string(kind: BulkKind, bytes: Uint8Array): Message | 'on' {
    if (kind === '!') return this.#value(new ErrorReply(Buffer.from(bytes).toString()));
    // A verbatim string begins with three letters of its kind, and a colon.
    return this.#value(kind === '=' ? bytes.subarray(4) : bytes);
  }

  #list(kind: '*' | '~' | '>' | '%' | '|', line: string): Message | 'on' {
    const length = lengthOf(line, this.#left / PART_BYTES);
    if (length === undefined) return this.#value(null);
    const left = kind === '%' || kind === '|' ? 2 * length : length;
    this.#take(PART_BYTES);
    const open = { unasked: kind === '>', dropped: kind === '|', items: [], left };
    if (left === 0) return this.#close(open);
    if (this.#open.length === MAX_DEPTH) throw new TypeError('lists within lists, too deep');
    this.#open.push(open);
    return 'on';
  }

  #take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new TypeError('an answer that would take too much memory');
    this.#share.take(bytes);
  }

  #whole(unasked: boolean, reply: Reply): Message {
    this.#left = this.#maxBytes;
    this.#share.release();
    return { unasked, reply };
  }

  #value(reply: Reply): Message | 'on' {
    const top = this.#open.at(-1);
    if (top === undefined) return this.#whole(false, reply);
    this.#take(PART_BYTES);
    top.items.push(reply);
    top.left -= 1;
    if (top.left > 0) return 'on';
    this.#open.pop();
    return this.#close(top);
  }

  #close({ unasked, dropped, items }: Open): Message | 'on' {
    if (dropped) return 'on';
    return unasked ? this.#whole(unasked, items) : this.#value(items);
  }
}

const KINDS = ['+', '-', ':', '$', '*', '_', ',', '#', '!', '=', '(', '%', '~', '>', '|'] as const;
type Kind = (typeof KINDS)[number];

function kindOf(byte: number | undefined): Kind {
  const letter = String.fromCharCode(byte ?? 0);
  const kind = KINDS.find((known) => known === letter);
  if (kind === undefined) throw new TypeError(`a message that begins with byte ${byte}`);
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
      if (!/^[+-]?\d+$/.test(line)) throw new TypeError('a number that is none');
      return Number(line);
    case ',':
    case '(':
      return Number(line);
    default:
      return kind satisfies never;
  }
}

function checkEnd(bytes: Uint8Array, at: number): void {
  if (bytes[at] !== CR || bytes[at + 1] !== LF) throw new TypeError('a string without its end');
}

/** Undefined for -1: nothing, as version 2 says it. */
function lengthOf(line: string, max: number): number | undefined {
  if (line === '-1') return undefined;
  const length = Number(line);
  if (!/^\d+$/.test(line) || length > max) throw new TypeError('a length that is none, or too long');
  return length;
}
