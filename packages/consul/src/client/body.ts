/**
 * Reads the body of a response. A broken or hostile server may send a body without an end, one of
 * millions of tiny values, or one in pieces of a few bytes. All three cost the process much more
 * than the server, so each is refused as soon as it is recognized.
 */

import type { IncomingMessage } from 'node:http';

import { Semaphore } from '@incumbent/core/adapter';
import { ByteBuffer, checkPieces, free, freeChunk, FREED_CHUNK_BYTES, MAX_ANSWER_BYTES, TinyPieces } from '@incumbent/network';

import { ExchangeError } from './failure.ts';

/**
 * Receives one item of a body that is a list of JSON objects. The bytes change after the call. Its
 * exception ends the request.
 */
export type OnItem = (json: Uint8Array) => void;

/**
 * The longest body. The process never holds more than one item of a list, so this limits only time:
 * a pair of Consul's has about 300 bytes.
 */
const MAX_BODY_BYTES = 4 * MAX_ANSWER_BYTES;
/**
 * The longest item of a list. The longest value that Consul accepts by default takes 0.7 MiB of it.
 */
const MAX_ITEM_BYTES = 2 ** 20;
/** The longest other body. */
const MAX_TEXT_BYTES = 2 * 2 ** 20;

/** An item has at most this number of fields and nested values. A pair of Consul's has 8. */
const MAX_ITEM_PARTS = 64;

/** The first size of a buffer, in which most bodies and items fit. */
const FIRST_BYTES = 4_096;
/** Shorter bodies never wait for others, so that long lists do not delay renewals and claims. */
const SHORT_BYTES = 64 * 2 ** 10;

export interface BodyReader {
  push(chunk: Uint8Array): void;
  /** Returns the text of the body; empty unless the reader keeps the text. */
  end(): string;
  free(): void;
}

/**
 * Reads the bodies of one client. Of those that are longer than 64 KiB, it reads one at a time: the
 * others wait in their sockets.
 */
export class BodyReaders {
  readonly #long = new Semaphore(1);

  /**
   * Passes the body to the reader as it arrives, and resolves with the text that the reader
   * returns. Rejects with an `ExchangeError` of the kind `malformed` if the body exceeds a limit,
   * and with the error of the connection.
   */
  read(message: IncomingMessage, reader: BodyReader): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const finished = promise.then(ignore, ignore);
    let length = 0;
    let pieces = 0;
    const fail = (error: unknown): void => {
      message.off('data', onData);
      reject(error instanceof TinyPieces ? malformed(error.message, error) : error);
      message.destroy();
    };
    const take = (chunk: Uint8Array): void => {
      try {
        if (length > MAX_BODY_BYTES) throw tooLong(MAX_BODY_BYTES);
        checkPieces(pieces, length);
        reader.push(chunk);
        free(chunk, FREED_CHUNK_BYTES);
      } catch (error) {
        fail(error);
      }
    };
    const onData = (chunk: Buffer): void => {
      const wasShort = length <= SHORT_BYTES;
      length += chunk.length;
      pieces += 1;
      if (!wasShort || length <= SHORT_BYTES) return take(chunk);
      message.pause();
      void this.#long.run(() => {
        if (!message.destroyed) take(chunk);
        message.resume();
        return finished;
      });
    };
    // Not an async iteration, which would first collect all pieces that arrive at the same time.
    message.on('data', onData).on('error', fail);
    message.once('end', () => {
      try {
        resolve(reader.end());
      } catch (error) {
        fail(error);
      }
    });
    message.once('close', () => reject(new Error('the connection closed before the end of the response')));
    // This listener runs after that of Node's HTTP client, which has copied the chunk by then.
    const { socket } = message;
    const onRaw = (chunk: Buffer): void => freeChunk(socket, chunk);
    socket.on('data', onRaw);
    return promise.finally(() => {
      socket.off('data', onRaw);
      reader.free();
    });
  }
}

function ignore(): void {}

/** Keeps the text of a body that is not a list. */
export class TextReader implements BodyReader {
  readonly #buffer = new GrowingBuffer(MAX_TEXT_BYTES);

  push(chunk: Uint8Array): void {
    this.#buffer.append(chunk);
  }

  end(): string {
    const { buffer, byteOffset, length } = this.#buffer.bytes;
    return Buffer.from(buffer, byteOffset, length).toString();
  }

  free(): void {
    this.#buffer.free();
  }
}

/** Reads the body to its end, which keeps the connection usable, and ignores it. */
const UNREAD: BodyReader = { push: ignore, end: () => '', free: ignore };

/** Hands out the items of a list. Without `onItem`, nothing needs them. */
export function listReader(onItem: OnItem | undefined): BodyReader {
  return onItem === undefined ? UNREAD : new ListReader(onItem);
}

const codeOf = (character: string): number => character.charCodeAt(0);
const [QUOTE, BACKSLASH, COMMA] = [codeOf('"'), codeOf('\\'), codeOf(',')];
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [codeOf('{'), codeOf('}'), codeOf('['), codeOf(']')];
const SPACES: ReadonlySet<number> = new Set([' ', '\t', '\r', '\n'].map(codeOf));

/**
 * Finds the items of a list in its bytes, however the bytes were cut into chunks. Keeps at most the
 * item that is arriving.
 */
export class ListReader implements BodyReader {
  readonly #onItem: OnItem;
  /** The beginning of an item whose end has not arrived. */
  readonly #item = new GrowingBuffer(MAX_ITEM_BYTES);
  /** 0 outside of the list, 1 between items, more inside an item. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isComplete = false;
  #parts = 0;

  constructor(onItem: OnItem) {
    this.#onItem = onItem;
  }

  push(chunk: Uint8Array): void {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#isInString && !this.#isEscaped) at = nextSpecial(chunk, at);
      if (at === chunk.length) break;
      const wasInside = this.#depth > 1;
      this.#take(chunk[at] ?? 0);
      const isInside = this.#depth > 1;
      if (!wasInside && isInside) start = at;
      if (!wasInside || isInside) continue;
      this.#item.append(chunk.subarray(start, at + 1));
      this.#handOut();
    }
    if (this.#depth > 1) this.#item.append(chunk.subarray(start));
  }

  end(): string {
    if (!this.#isComplete) throw malformed('a list was expected');
    return '';
  }

  free(): void {
    this.#item.free();
  }

  #take(byte: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
    } else if (this.#depth > 1) this.#takeInItem(byte);
    else if (!SPACES.has(byte)) this.#takeOutside(byte);
  }

  #takeInItem(byte: number): void {
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === BRACE_END || byte === BRACKET_END) this.#depth -= 1;
    else if (byte === BRACE || byte === BRACKET || byte === COMMA) {
      if (byte !== COMMA) this.#depth += 1;
      this.#parts += 1;
      if (this.#parts > MAX_ITEM_PARTS) throw malformed(`an item has more than ${MAX_ITEM_PARTS} values`);
    }
  }

  #takeOutside(byte: number): void {
    if (this.#depth === 0 && byte === BRACKET && !this.#isComplete) this.#depth = 1;
    else if (this.#depth === 1 && byte === BRACE) this.#depth = 2;
    else if (this.#depth === 1 && byte === BRACKET_END) {
      this.#depth = 0;
      this.#isComplete = true;
    } else if (this.#depth === 0 || byte !== COMMA) throw malformed('a list of objects was expected');
  }

  #handOut(): void {
    this.#onItem(this.#item.bytes);
    this.#item.clear();
    this.#parts = 0;
  }
}

/**
 * The index of the next byte with a meaning inside a string: a quote or a backslash. The length of
 * the chunk if there is none.
 */
function nextSpecial(chunk: Uint8Array, from: number): number {
  const quote = chunk.indexOf(QUOTE, from);
  const end = quote === -1 ? chunk.length : quote;
  const backslash = chunk.subarray(from, end).indexOf(BACKSLASH);
  return backslash === -1 ? end : from + backslash;
}

/** Bytes in one buffer that grows up to a limit. */
class GrowingBuffer {
  readonly #maxBytes: number;
  readonly #buffer = new ByteBuffer(FIRST_BYTES);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#buffer.length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.bytes;
  }

  append(chunk: Uint8Array): void {
    const length = this.#buffer.length + chunk.length;
    if (length > this.#maxBytes) throw tooLong(this.#maxBytes);
    const { capacity } = this.#buffer;
    if (length > capacity) this.#buffer.grow(Math.min(Math.max(length, 2 * capacity), this.#maxBytes));
    this.#buffer.fill(chunk);
  }

  clear(): void {
    this.#buffer.clear();
  }

  free(): void {
    this.#buffer.free();
  }
}

function tooLong(bytes: number): ExchangeError {
  return malformed(`the response, or one of its items, is longer than ${bytes} bytes`);
}

function malformed(message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, message, cause);
}
