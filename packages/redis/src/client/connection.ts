/** One connection to a server: requests go out in order, and answers come in the same order. */

import type { Duplex } from 'node:stream';

import type { Cancel, Clock } from '@incumbent/core';
import { AnswersTooLarge, pace, type SharedAllowance } from '@incumbent/network';

import { answeredWith, ExchangeError } from './failure.ts';
import { encodeRequest, ErrorReply, isList, Reader, type Message, type Reply } from '../protocol/resp.ts';

/** What is on its way for longer than this, while nothing comes in, is on a dead link or a server that hangs. */
const SILENCE_MS = 2_000;
/** After a pause of this process, what came in meanwhile is read before it is taken for silence. */
const GRACE_MS = 50;

interface Pending {
  readonly sentAtMs: number;
  readonly answer: PromiseWithResolvers<Reply>;
}

/** A retired connection ends after so many ms, whatever arrives on it: no call of the defaults takes longer. */
const RETIRED_MS = 5_000;

export interface ConnectionOptions {
  /** Something that the server said unasked. */
  readonly unasked: (reply: Reply) => void;
  /** What the answer that is arriving counts against: that of this connection alone by default. */
  readonly answers?: SharedAllowance;
}

export class Connection {
  readonly #stream: Duplex;
  readonly #clock: Clock;
  readonly #unasked: (reply: Reply) => void;
  readonly #reader: Reader;
  readonly #pending: Pending[] = [];
  readonly #ended = Promise.withResolvers<ExchangeError>();
  #error: ExchangeError | undefined;
  #heardAtMs: number;
  #cancelWatchdog: Cancel | undefined;
  /** Why it ends when what is on its way has been answered. */
  #retiredFor: ExchangeError | undefined;
  #cancelRetirement: Cancel | undefined;

  /** Takes the stream over. */
  constructor(stream: Duplex, clock: Clock, { unasked, answers }: ConnectionOptions) {
    this.#stream = stream;
    this.#clock = clock;
    this.#unasked = unasked;
    this.#reader = new Reader(answers);
    this.#heardAtMs = clock.monotonic();
    stream.on('data', (chunk: Uint8Array) => this.#onData(chunk));
    stream.on('error', (error: Error) => this.#end(new ExchangeError({ kind: 'cut' }, `the connection broke: ${error.message}`, error)));
    stream.on('close', () => this.#end(new ExchangeError({ kind: 'cut' }, 'the server ended the connection')));
    stream.on('end', () => this.#end(new ExchangeError({ kind: 'cut' }, 'the server ended the connection')));
  }

  get usable(): boolean {
    return this.#error === undefined;
  }

  /** Resolves at the end, with why. */
  get ended(): Promise<ExchangeError> {
    return this.#ended.promise;
  }

  /** When the server was last heard. */
  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  /** Sends at once. Rejects with an `ExchangeError`: `answer`, `cut`, `malformed`, or `closed`. */
  async request(args: readonly (string | Uint8Array)[]): Promise<Reply> {
    if (this.#error !== undefined) throw this.#error;
    // What cannot be encoded is not sent, and must not wait for an answer either: it would be given that of the next.
    const bytes = encodeRequest(args);
    const pending = { sentAtMs: this.#clock.monotonic(), answer: Promise.withResolvers<Reply>() };
    this.#pending.push(pending);
    this.#stream.write(bytes);
    if (this.#cancelWatchdog === undefined) this.#watch(SILENCE_MS);
    const reply = await pending.answer.promise;
    if (reply instanceof ErrorReply) throw answeredWith(reply);
    return reply;
  }

  /** The server has shown what it is: its answers may be long. */
  greeted(): void {
    this.#reader.greeted();
  }

  /** Ends it when what is on its way has been answered, and after a while in any case: a server may answer without an end. */
  retire(why: ExchangeError): void {
    if (this.#retiredFor === undefined) this.#cancelRetirement = this.#clock.schedule(RETIRED_MS, () => this.#end(why));
    this.#retiredFor ??= why;
    this.#leave();
  }

  /** Ends it at once. */
  end(error: ExchangeError): void {
    this.#end(error);
  }

  #onData(chunk: Uint8Array): void {
    if (this.#error !== undefined) return;
    this.#heardAtMs = this.#clock.monotonic();
    pace(this.#stream, chunk);
    let messages: readonly Message[];
    try {
      messages = this.#reader.push(chunk);
    } catch (error) {
      return this.#end(
        new ExchangeError(
          { kind: 'malformed' },
          error instanceof AnswersTooLarge ? error.message : 'what the server says is no RESP',
          error,
        ),
      );
    }
    for (const message of messages) this.#onMessage(message);
    this.#leave();
  }

  #leave(): void {
    if (this.#retiredFor !== undefined && this.#pending.length === 0) this.#end(this.#retiredFor);
  }

  #onMessage({ unasked, reply }: Message): void {
    if (unasked && !isSubscription(reply)) return this.#unasked(reply);
    const pending = this.#pending.shift();
    if (pending !== undefined) return pending.answer.resolve(reply);
    // As a server says that it takes no more clients.
    const said = reply instanceof ErrorReply ? answeredWith(reply) : undefined;
    this.#end(said ?? new ExchangeError({ kind: 'malformed' }, 'the server answered what nobody had asked'));
  }

  #watch(delayMs: number, isLastLook = false): void {
    this.#cancelWatchdog = this.#clock.schedule(delayMs, () => {
      this.#cancelWatchdog = undefined;
      const [oldest] = this.#pending;
      if (oldest === undefined || this.#error !== undefined) return;
      const leftMs = Math.max(oldest.sentAtMs, this.#heardAtMs) + SILENCE_MS - this.#clock.monotonic();
      if (leftMs > 0) this.#watch(leftMs);
      else if (!isLastLook) this.#watch(GRACE_MS, true);
      else this.#end(new ExchangeError({ kind: 'cut' }, `the server has said nothing for ${SILENCE_MS} ms`));
    });
  }

  #end(error: ExchangeError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#cancelWatchdog?.();
    this.#cancelRetirement?.();
    this.#stream.destroy();
    this.#reader.close();
    const lost = lostBy(error);
    for (const { answer } of this.#pending.splice(0)) answer.reject(lost);
    this.#ended.resolve(error);
  }
}

/** What was on its way may have been done, whatever the connection ended for: why there is none is the next request's concern, and an answer is to one request. */
function lostBy(error: ExchangeError): ExchangeError {
  const { kind } = error.failure;
  return kind === 'notConnected' || kind === 'answer' ? new ExchangeError({ kind: 'cut' }, error.message, error) : error;
}

/** The one answer that comes as if it were unasked. */
function isSubscription(reply: Reply): boolean {
  if (!isList(reply)) return false;
  const [kind] = reply;
  return kind instanceof Uint8Array && Buffer.from(kind).toString() === 'subscribe';
}
