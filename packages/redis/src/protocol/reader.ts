/** Finds the messages in the bytes of one connection, and bounds the memory that they take. */

import { free, MAX_ANSWER_BYTES, MAX_GREETING_BYTES, PART_BYTES, type Share, SharedAllowance } from '@incumbent/network';

import { CRLF, decode, headOf, typeOf, type Head, type Reply } from './resp.ts';

const [CR, LF] = [13, 10];

/** The longest line outside of a bulk string. Errors are the longest lines. */
const MAX_LINE_BYTES = 65_536;
/** Answers of our scripts have four levels of lists. */
const MAX_DEPTH = 64;

const FIRST_BYTES = 16_384;
/**
 * A buffer of this size has room for what Node reads at once and for a short message. It does not
 * count against the allowance of all connections, so short answers arrive while long ones use it
 * up.
 */
const SMALL_BYTES = 262_144;
/**
 * A longer message is handed out with its buffer. A shorter one is copied, and the buffer is used
 * again.
 */
const COPIED_BYTES = 65_536;

/** The answer to the oldest request in flight, or a push message, which answers no request. */
export interface Message {
  readonly isPush: boolean;
  readonly reply: Reply;
}

/** A list whose items are arriving. */
interface Open {
  readonly isAttribute: boolean;
  left: number;
}

/**
 * Collects the bytes of one connection, in chunks of any size, until a message is complete. Nothing
 * is decoded before: a list of many short strings would take many times its bytes.
 */
export class Reader {
  #buffer = bufferOf(FIRST_BYTES);
  /** Where the message that is arriving begins in the buffer, and where the received bytes end. */
  #start = 0;
  #end = 0;
  /**
   * How many bytes of the message were scanned, and how many were searched for a CRLF without
   * finding one.
   */
  #scanned = 0;
  #searched = 0;
  /**
   * How long the message must be before scanning goes on: the end of the string that is arriving.
   */
  #awaited = 0;
  readonly #open: Open[] = [];
  #isPush = false;
  readonly #onMessage: (message: Message) => void;
  readonly #share: Share;
  #maxBytes = MAX_GREETING_BYTES;
  /** How many bytes of memory the message that is arriving may still take. */
  #left = MAX_GREETING_BYTES;

  /**
   * `onMessage` must copy the bytes that it keeps: the memory of a long message is freed when it
   * returns. The message that is arriving counts against `answers`, which several readers may
   * share.
   */
  constructor(onMessage: (message: Message) => void, answers: SharedAllowance = new SharedAllowance()) {
    this.#onMessage = onMessage;
    this.#share = answers.share();
  }

  /**
   * From now on, a message may take 17 MiB instead of 256 KiB, each value counted as 128 bytes
   * more.
   */
  allowLongAnswers(): void {
    this.#left += MAX_ANSWER_BYTES - this.#maxBytes;
    this.#maxBytes = MAX_ANSWER_BYTES;
  }

  /**
   * Calls `onMessage` for each message that this chunk completes, one after the other. Throws a
   * `TypeError` for bytes that are not RESP and for a message that would take too much memory, and
   * `AnswersTooLarge` if the messages of all readers would. Close the reader after an error.
   */
  push(chunk: Uint8Array): void {
    this.#append(chunk);
    for (let step = this.#scan(); step !== 'more'; step = this.#scan()) if (step === 'complete') this.#deliver();
  }

  /** Frees the message that is arriving. The reader is of no use afterwards. */
  close(): void {
    free(this.#buffer);
    [this.#buffer, this.#start, this.#end] = [bufferOf(0), 0, 0];
    this.#share.release();
  }

  #append(chunk: Uint8Array): void {
    this.#reserve(this.#end - this.#start + chunk.length);
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Makes room for a message of so many bytes. */
  #reserve(bytes: number): void {
    if (this.#start + bytes <= this.#buffer.length) return;
    this.#buffer.copyWithin(0, this.#start, this.#end);
    [this.#start, this.#end] = [0, this.#end - this.#start];
    if (bytes <= this.#buffer.length) return;
    // Twice as much as before, so that a long list is not copied with every chunk.
    const capacity = Math.max(bytes, Math.min(2 * this.#buffer.length, MAX_ANSWER_BYTES));
    this.#share.take(Math.max(capacity - SMALL_BYTES, 0) - Math.max(this.#buffer.length - SMALL_BYTES, 0));
    this.#buffer = Buffer.from(this.#buffer.buffer.transfer(capacity));
  }

  /** Scans one string or number, or the first line of a list. */
  #scan(): 'more' | 'next' | 'complete' {
    if (this.#end - this.#start < this.#awaited) return 'more';
    const from = this.#start + this.#scanned;
    const newline = this.#buffer.subarray(0, this.#end).indexOf(CRLF, this.#start + this.#searched);
    if (newline < 0) {
      if (this.#end - from > MAX_LINE_BYTES) throw new TypeError('a line is too long');
      if (this.#end > from) typeOf(this.#buffer[from]);
      // The last byte may be the first one of a CRLF.
      this.#searched = Math.max(this.#end - this.#start - 1, this.#scanned);
      return 'more';
    }
    const head = headOf(this.#buffer[from], this.#buffer.toString('utf8', from + 1, newline));
    const after = newline + CRLF.length - this.#start;
    if (head.kind === 'bulk') return this.#scanBulk(head.length, after);
    if (head.kind !== 'value') this.#openList(head);
    this.#take(after);
    if (head.kind === 'value') return this.#closeValue();
    return this.#closeLists();
  }

  #scanBulk(length: number, from: number): 'more' | 'next' | 'complete' {
    const to = from + length + CRLF.length;
    if (this.#costOf(to) > this.#left) throw tooMuch();
    if (this.#start + to > this.#end) {
      // The first line is scanned again when the string is complete.
      this.#reserve(to);
      this.#awaited = to;
      return 'more';
    }
    if (this.#buffer[this.#start + to - 2] !== CR || this.#buffer[this.#start + to - 1] !== LF)
      throw new TypeError('a string does not end with CRLF');
    this.#take(to);
    return this.#closeValue();
  }

  #openList(head: Extract<Head, { readonly kind: 'list' | 'push' | 'attribute' }>): void {
    if (head.length * PART_BYTES > this.#left) throw tooMuch();
    if (head.kind === 'push') {
      if (this.#open.length > 0) throw new TypeError('a push message is within a list');
      this.#isPush = true;
    }
    if (this.#open.length === MAX_DEPTH) throw new TypeError('lists are nested too deeply');
    this.#open.push({ isAttribute: head.kind === 'attribute', left: head.length });
  }

  #moveTo(scanned: number): void {
    [this.#scanned, this.#searched, this.#awaited] = [scanned, scanned, 0];
  }

  /** Records that one value is complete. */
  #closeValue(): 'next' | 'complete' {
    const parent = this.#open.at(-1);
    if (parent === undefined) return 'complete';
    parent.left -= 1;
    return this.#closeLists();
  }

  /** Closes the lists that have all of their items. */
  #closeLists(): 'next' | 'complete' {
    const list = this.#open.at(-1);
    if (list === undefined || list.left > 0) return 'next';
    this.#open.pop();
    return list.isAttribute ? 'next' : this.#closeValue();
  }

  /**
   * The memory that the next value takes, which ends at `to`. Its first line counts too: a length
   * may have any number of zeros.
   */
  #costOf(to: number): number {
    return to - this.#scanned + PART_BYTES;
  }

  #take(to: number): void {
    this.#left -= this.#costOf(to);
    if (this.#left < 0) throw tooMuch();
    this.#moveTo(to);
  }

  /** Frees the message before the next one may reserve memory. `onMessage` may close the reader. */
  #deliver(): void {
    const bytes = this.#takeBytes(this.#start + this.#scanned);
    const message = { isPush: this.#isPush, reply: decode(bytes) };
    this.#moveTo(0);
    this.#isPush = false;
    this.#left = this.#maxBytes;
    this.#share.release();
    this.#onMessage(message);
    free(new Uint8Array(bytes.buffer));
  }

  #takeBytes(to: number): Uint8Array {
    const from = this.#start;
    if (this.#scanned <= COPIED_BYTES) {
      this.#start = to;
      return new Uint8Array(this.#buffer.subarray(from, to));
    }
    const [long, rest] = [this.#buffer, this.#buffer.subarray(to, this.#end)];
    this.#buffer = bufferOf(Math.max(FIRST_BYTES, rest.length));
    this.#buffer.set(rest);
    [this.#start, this.#end] = [0, rest.length];
    return long.subarray(from, to);
  }
}

/** A buffer with memory of its own, so that it can be freed. */
function bufferOf(bytes: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(bytes));
}

function tooMuch(): TypeError {
  return new TypeError('a reply would take too much memory');
}
