/** Sends requests that are made at the same time in one transaction. */

import type { TimedCall } from '@incumbent/core';
import { outcomeOf, systemClock } from '@incumbent/core/adapter';

/** The requests of one transaction. */
export interface BatchContents<Request> {
  /** Adds the request and returns true, unless the transaction may not have it as well. */
  add(request: Request): boolean;
}

/** How several requests become one transaction. */
export interface BatcherOptions<Request, Answer> {
  /** Whether the request may share a transaction with others. */
  mayShare(request: Request): boolean;
  /** The contents of a new transaction, which takes any first request. */
  newContents(): BatchContents<Request>;
  /** Sends a request by itself. */
  sendOne(request: Request, options: TimedCall): Promise<Answer>;
  /**
   * Sends two or more requests as one transaction. Resolves with their answers in the same order,
   * or with undefined if the transaction has had no effect: then each request is sent by itself.
   */
  sendAll(requests: readonly Request[], options: TimedCall): Promise<readonly Answer[] | undefined>;
}

/** Requests with the same time limit and the same signal, which then also end the transaction. */
interface Batch<Request, Answer> {
  readonly options: TimedCall;
  readonly contents: BatchContents<Request>;
  readonly requests: Request[];
  /** As `sendAll` resolves. Undefined if there is only one request. */
  readonly answers: Promise<readonly Answer[] | undefined>;
}

/**
 * Collects the requests of one turn of the event loop, and sends those with the same time limit and
 * signal as one transaction. If etcd refuses the transaction, one of its requests may be to blame,
 * and each is sent by itself.
 */
export class Batcher<Request, Answer> {
  readonly #options: BatcherOptions<Request, Answer>;
  readonly #open = new Set<Batch<Request, Answer>>();

  constructor(options: BatcherOptions<Request, Answer>) {
    this.#options = options;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  async send(request: Request, options: TimedCall): Promise<Answer> {
    const { mayShare, sendOne } = this.#options;
    if (!mayShare(request)) return sendOne(request, options);
    const endsAtMs = systemClock.monotonic() + options.timeoutMs;
    const batch = this.#batchFor(request, options);
    const index = batch.requests.push(request) - 1;
    const answer = (await batch.answers)?.[index];
    if (answer !== undefined) return answer;
    const timeoutMs = Math.max(endsAtMs - systemClock.monotonic(), 1);
    return sendOne(request, { ...options, timeoutMs });
  }

  #batchFor(request: Request, options: TimedCall): Batch<Request, Answer> {
    for (const batch of this.#open) {
      const { timeoutMs, signal } = batch.options;
      if (timeoutMs === options.timeoutMs && signal === options.signal && batch.contents.add(request)) return batch;
    }
    const contents = this.#options.newContents();
    contents.add(request);
    const answers = endOfTurn().then(() => this.#close(batch));
    const batch: Batch<Request, Answer> = { options, contents, requests: [], answers };
    this.#open.add(batch);
    return batch;
  }

  async #close(batch: Batch<Request, Answer>): Promise<readonly Answer[] | undefined> {
    this.#open.delete(batch);
    const { requests, options } = batch;
    if (requests.length === 1) return undefined;
    try {
      return await this.#options.sendAll(requests, options);
    } catch (error) {
      if (outcomeOf(error) === 'refused') return undefined;
      throw error;
    }
  }
}

/** Resolves when no more promise callbacks are due, before the next event of the event loop. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    queueMicrotask(() => process.nextTick(resolve));
  });
}
