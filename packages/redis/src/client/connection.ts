/** One connection to a server. Requests go out in order, and answers arrive in the same order. */

import type { Duplex } from 'node:stream';

import type { Cancel, Clock } from '@incumbent/core';
import { AnswersTooLarge, freeChunk, GRACE_MS, MAX_MESSAGE_MS, pace, type SharedAllowance } from '@incumbent/network';

import { answeredWith, ExchangeError, notConnected } from '../protocol/failure.ts';
import { textOf } from '../protocol/replies.ts';
import { Reader, type Message } from '../protocol/reader.ts';
import { encodeRequest, ErrorReply, isList, type Reply } from '../protocol/resp.ts';

/**
 * If a request has waited this long and nothing has arrived, the link is dead or the server hangs.
 */
const SILENCE_MS = 2_000;

/**
 * If a request has waited this long and only messages that answer no request have arrived, requests
 * do not reach the server, although its messages arrive.
 */
const UNANSWERED_MS = 5_000;

interface Pending {
  readonly sentAtMs: number;
  /** Reads the answer, which may be an error. */
  readonly onAnswer: (reply: Reply) => void;
  readonly fail: (error: ExchangeError) => void;
}

/** A retired connection on which no call waits ends after this time, whatever arrives on it. */
const RETIRED_MS = 5_000;

export interface ConnectionOptions {
  /** A message of the server that answers no request. */
  readonly onPush: (reply: Reply) => void;
  /**
   * Bounds the memory of the answers that are arriving on all connections. By default, each
   * connection has its own bound.
   */
  readonly answers?: SharedAllowance;
}

export class Connection {
  readonly #stream: Duplex;
  readonly #clock: Clock;
  readonly #onPush: (reply: Reply) => void;
  readonly #reader: Reader;
  readonly #pending: Pending[] = [];
  readonly #ended = Promise.withResolvers<ExchangeError>();
  #error: ExchangeError | undefined;
  #lastReceivedMs: number;
  /** When an answer, or another piece of a message that may be one, last arrived. */
  #lastAnsweredMs: number;
  /** When the first bytes of the message that is arriving came; undefined between messages. */
  #messageSinceMs: number | undefined;
  #cancelWatchdog: Cancel | undefined;
  /** Why the connection ends when all requests in flight have their answers. */
  #retiredFor: ExchangeError | undefined;
  #cancelRetirement: Cancel | undefined;
  #isRetirementOver = false;
  /** The number of calls that wait for an answer. */
  #callers = 0;

  /** The connection owns the stream from this call on. */
  constructor(stream: Duplex, clock: Clock, { onPush, answers }: ConnectionOptions) {
    this.#stream = stream;
    this.#clock = clock;
    this.#onPush = onPush;
    this.#reader = new Reader((message) => this.#onMessage(message), answers);
    this.#lastReceivedMs = this.#lastAnsweredMs = clock.monotonic();
    stream.on('data', (chunk: Uint8Array) => this.#onData(chunk));
    stream.on('error', (error: Error) => this.#end(cut(`the connection broke: ${error.message}`, error)));
    stream.on('close', () => this.#end(cut('the server ended the connection')));
    stream.on('end', () => this.#end(cut('the server ended the connection')));
  }

  /** Whether requests can be sent. */
  get usable(): boolean {
    return this.#error === undefined;
  }

  /** Resolves when the connection ends, with the reason. Never rejects. */
  get ended(): Promise<ExchangeError> {
    return this.#ended.promise;
  }

  /**
   * The monotonic time at which bytes last arrived. The bytes of one message count for 30 s from
   * its first byte, and its last byte counts.
   */
  get lastReceivedMs(): number {
    return this.#lastReceivedMs;
  }

  /**
   * Sends at once, and resolves with what `read` makes of the answer. The memory of a long answer
   * is freed when `read` returns, so `read` must copy the bytes that it keeps. Rejects with an
   * `ExchangeError` (`answer`, `cut`, `malformed` or `closed`), or as `read` throws.
   */
  async request<T>(args: readonly (string | Uint8Array)[], read: (reply: Reply) => T): Promise<T> {
    if (this.#error !== undefined) throw this.#error;
    // Encode first. If encoding throws after the request has joined the queue, the request would
    // take the answer of the next one.
    const bytes = encodeRequest(args);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const onAnswer = (reply: Reply): void => {
      try {
        if (reply instanceof ErrorReply) throw answeredWith(reply);
        resolve(read(reply));
      } catch (error) {
        reject(error);
      }
    };
    this.#pending.push({ sentAtMs: this.#clock.monotonic(), onAnswer, fail: reject });
    this.#stream.write(bytes);
    if (this.#cancelWatchdog === undefined) this.#watchSilence(SILENCE_MS);
    return promise;
  }

  /** The greeting succeeded: from now on, answers may be long. */
  onGreeted(): void {
    this.#reader.allowLongAnswers();
  }

  /**
   * Registers a call that waits for answers. The call must call the returned function once, when it
   * no longer waits.
   */
  addCaller(): Cancel {
    this.#callers += 1;
    return () => {
      this.#callers -= 1;
      this.#endIfRetired();
    };
  }

  /**
   * Ends the connection when all requests in flight have their answers, and after 5 s if no call
   * waits any more: a server may send an answer without an end. Does nothing on a connection that
   * has ended.
   */
  retire(why: ExchangeError): void {
    if (this.#error !== undefined || this.#retiredFor !== undefined) return;
    this.#retiredFor = why;
    this.#cancelRetirement = this.#clock.schedule(RETIRED_MS, () => {
      this.#isRetirementOver = true;
      this.#endIfRetired();
    });
    this.#endIfRetired();
  }

  /** Ends the connection at once. Idempotent: the first reason counts. */
  end(error: ExchangeError): void {
    this.#end(error);
  }

  #onData(chunk: Uint8Array): void {
    if (this.#error !== undefined) return;
    const now = this.#clock.monotonic();
    const isNew = this.#messageSinceMs === undefined;
    this.#messageSinceMs ??= now;
    if (now - this.#messageSinceMs <= MAX_MESSAGE_MS) {
      this.#lastReceivedMs = now;
      if (!isNew) this.#lastAnsweredMs = now;
    }
    pace(this.#stream, chunk);
    try {
      this.#reader.push(chunk);
    } catch (error) {
      const message = error instanceof AnswersTooLarge ? error.message : 'the server does not speak RESP';
      return this.#end(new ExchangeError({ kind: 'malformed' }, message, error));
    } finally {
      // The reader has copied it.
      freeChunk(this.#stream, chunk);
    }
    this.#endIfRetired();
  }

  #endIfRetired(): void {
    if (this.#retiredFor === undefined) return;
    if (this.#pending.length === 0 || (this.#isRetirementOver && this.#callers === 0)) this.#end(this.#retiredFor);
  }

  #onMessage({ isPush, reply }: Message): void {
    this.#messageSinceMs = undefined;
    this.#lastReceivedMs = this.#clock.monotonic();
    if (isPush && !isSubscription(reply)) return this.#onPush(reply);
    this.#lastAnsweredMs = this.#lastReceivedMs;
    const pending = this.#pending.shift();
    if (pending !== undefined) return pending.onAnswer(reply);
    // A server with too many clients says so before any request.
    const refusal = reply instanceof ErrorReply ? answeredWith(reply) : undefined;
    this.#end(refusal ?? new ExchangeError({ kind: 'malformed' }, 'the server sent an answer without a request'));
  }

  #watchSilence(delayMs: number, isLastCheck = false): void {
    this.#cancelWatchdog = this.#clock.schedule(delayMs, () => {
      this.#cancelWatchdog = undefined;
      const [oldest] = this.#pending;
      if (oldest === undefined || this.#error !== undefined) return;
      const silentAtMs = Math.max(oldest.sentAtMs, this.#lastReceivedMs) + SILENCE_MS;
      // A retired connection takes no more requests, and ends with its calls.
      const answeredMs = this.#retiredFor === undefined ? this.#lastAnsweredMs : Infinity;
      const unansweredAtMs = Math.max(oldest.sentAtMs, answeredMs) + UNANSWERED_MS;
      const leftMs = Math.min(silentAtMs, unansweredAtMs) - this.#clock.monotonic();
      if (leftMs > 0) this.#watchSilence(leftMs);
      else if (!isLastCheck) this.#watchSilence(GRACE_MS, true);
      else if (silentAtMs < unansweredAtMs) this.#end(notConnected('silent', `the server has sent nothing for ${SILENCE_MS} ms`));
      else this.#end(notConnected('silent', `the server has answered nothing for ${UNANSWERED_MS} ms`));
    });
  }

  #end(error: ExchangeError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#cancelWatchdog?.();
    this.#cancelRetirement?.();
    this.#stream.destroy();
    this.#reader.close();
    const failure = failureInFlight(error);
    for (const { fail } of this.#pending.splice(0)) fail(failure);
    this.#ended.resolve(error);
  }
}

function cut(message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, message, cause);
}

/**
 * A request in flight may have been applied, whatever ended the connection. `notConnected` is for
 * later requests, and an error answer belongs to one request only.
 */
function failureInFlight(error: ExchangeError): ExchangeError {
  const { kind } = error.failure;
  return kind === 'notConnected' || kind === 'answer' ? cut(error.message, error) : error;
}

/** The answer to SUBSCRIBE is the only one that arrives as a push message. */
function isSubscription(reply: Reply): boolean {
  if (!isList(reply)) return false;
  const [kind] = reply;
  return kind instanceof Uint8Array && textOf(kind) === 'subscribe';
}
