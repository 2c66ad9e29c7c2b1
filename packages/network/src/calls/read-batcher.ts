/** Reads that are asked for at the same time, in one request. */

import type { Clock, Entry, Key } from '@incumbent/core';

import { Attempt, type AttemptOptions } from './attempt.ts';
import type { OverErrorClass } from './exchange-error.ts';

/** A checked read or watch of one key, or of the keys under a prefix. */
export type ReadQuery =
  | { readonly key: Key }
  | {
      readonly prefix: Key;
      readonly before?: Entry | undefined;
      readonly first?: number | undefined;
      readonly last?: number | undefined;
      readonly values?: boolean | undefined;
    };

/** The reads of one request. */
export interface ReadBatch<Request> {
  readonly requests: readonly Request[];
  /**
   * The options for the request. Its timeout is the longest of its reads' timeouts. It is a
   * background call, because each read keeps the process alive by itself.
   */
  readonly options: AttemptOptions;
  /**
   * Aborts when all reads have ended, with the reason of the last one. An adapter that limits the
   * requests under way has to end the request then, because later reads wait for it.
   */
  readonly unwanted: AbortSignal;
  /** Says that a server may have the request from now on. */
  markSent(): void;
}

/** What a {@link ReadBatcher} needs of its adapter. */
export interface ReadBatcherOptions<Request, Answer> {
  readonly clock: Clock;
  readonly ErrorType: OverErrorClass;
  /** The most reads of one request. */
  readonly maxReads: number;
  /**
   * The most requests under way. Further reads wait, and share the next request. Default: no limit.
   */
  readonly maxRequests?: number;
  /** Sends one request. Resolves with the answers in the order of the reads. */
  send(batch: ReadBatch<Request>): Promise<readonly Answer[]>;
  /**
   * Whether one read may be to blame for this error of several. Each is then sent again by itself,
   * one after the other.
   */
  isOfOneRead(error: unknown): boolean;
}

interface PendingRead<Request, Answer> {
  readonly request: Request;
  readonly timeoutMs: number;
  readonly attempt: Attempt;
  readonly answer: PromiseWithResolvers<Answer>;
}

/**
 * Collects the reads that are asked for until the microtask that the first of them queues, and
 * sends them as one request. A campaign reads several keys at once, and so costs the store one
 * request. Each read has its own time limit and signal: a read that ends early leaves the others
 * alone.
 */
export class ReadBatcher<Request, Answer> {
  readonly #options: ReadBatcherOptions<Request, Answer>;
  #pending: PendingRead<Request, Answer>[] = [];
  #underWay = 0;

  constructor(options: ReadBatcherOptions<Request, Answer>) {
    this.#options = options;
  }

  /** Rejects as `send` does, with the adapter's error at a timeout, or with the signal's reason. */
  async read(request: Request, options: AttemptOptions): Promise<Answer> {
    options.signal?.throwIfAborted();
    const { clock, ErrorType } = this.#options;
    const answer = Promise.withResolvers<Answer>();
    // Nobody listens once the attempt has ended.
    answer.promise.catch(() => {});
    const attempt = new Attempt(clock, options, ErrorType);
    if (this.#pending.length === 0) queueMicrotask(() => this.#sendAll());
    this.#pending.push({ request, timeoutMs: options.timeoutMs, attempt, answer });
    try {
      return await attempt.wait(answer.promise);
    } finally {
      attempt.end();
    }
  }

  #sendAll(): void {
    const { maxReads, maxRequests = Infinity } = this.#options;
    this.#pending = this.#pending.filter(isWanted);
    while (this.#pending.length > 0 && this.#underWay < maxRequests) void this.#sendOne(this.#pending.splice(0, maxReads));
  }

  async #sendOne(reads: readonly PendingRead<Request, Answer>[]): Promise<void> {
    this.#underWay += 1;
    await this.#send(reads);
    this.#underWay -= 1;
    this.#sendAll();
  }

  async #send(reads: readonly PendingRead<Request, Answer>[]): Promise<void> {
    const timeoutMs = Math.max(...reads.map((read) => read.timeoutMs));
    const markSent = (): void => {
      for (const { attempt } of reads) attempt.sent = true;
    };
    const unwanted = new AbortController();
    // A timeout of the last read to end is a timeout of the request, too.
    const onEnd = (event: Event): void => {
      if (!reads.some(isWanted) && event.target instanceof AbortSignal) unwanted.abort(event.target.reason);
    };
    for (const { attempt } of reads) attempt.signal.addEventListener('abort', onEnd, { once: true });
    try {
      const requests = reads.map(({ request }) => request);
      const options = { timeoutMs, background: true };
      const answers = await this.#options.send({ requests, options, unwanted: unwanted.signal, markSent });
      for (const [index, { answer }] of reads.entries()) {
        const one = answers[index];
        if (one === undefined) throw new Error(`the answer lacks ${reads.length - answers.length} of ${reads.length} parts`);
        answer.resolve(one);
      }
    } catch (error) {
      if (reads.length > 1 && this.#options.isOfOneRead(error)) return await this.#sendEach(reads);
      for (const { answer } of reads) answer.reject(error);
    } finally {
      for (const { attempt } of reads) attempt.signal.removeEventListener('abort', onEnd);
    }
  }

  async #sendEach(reads: readonly PendingRead<Request, Answer>[]): Promise<void> {
    for (const read of reads) if (isWanted(read)) await this.#send([read]);
  }
}

function isWanted({ attempt }: { readonly attempt: Attempt }): boolean {
  return !attempt.signal.aborted;
}
