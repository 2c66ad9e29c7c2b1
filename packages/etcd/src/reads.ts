/** Linearizable reads. Reads that are asked for at the same time are one request. */

import type { TimedCall } from '@incumbent/core';
import { isIncumbentError, systemClock } from '@incumbent/core/adapter';

import type { Client } from './client/client.ts';
import { partMissing } from './errors.ts';
import { range, type RangeAnswer, type RangeRequest, txn } from './protocol/kv.ts';

/** Far below the server's default for `--max-txn-ops`. */
const MAX_READS = 16;

interface Read {
  readonly request: RangeRequest;
  readonly answer: PromiseWithResolvers<RangeAnswer>;
}

/** Reads with the same time limit and the same signal. The request can then end with them. */
interface Batch {
  readonly options: TimedCall;
  readonly reads: Read[];
}

/**
 * Collects the reads of one microtask, and sends those with the same time limit and signal as one
 * transaction. Reading the state of an election is therefore one request, and shows one revision of
 * the store.
 */
export class Reads {
  readonly #client: Client;
  #batches: Batch[] = [];

  constructor(client: Client) {
    this.#client = client;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  range(request: RangeRequest, options: TimedCall): Promise<RangeAnswer> {
    const answer = Promise.withResolvers<RangeAnswer>();
    this.#batchOf(options).reads.push({ request, answer });
    return answer.promise;
  }

  #batchOf(options: TimedCall): Batch {
    const { timeoutMs, signal } = options;
    const open = this.#batches.find(
      (batch) => batch.reads.length < MAX_READS && batch.options.timeoutMs === timeoutMs && batch.options.signal === signal,
    );
    if (open !== undefined) return open;
    if (this.#batches.length === 0) queueMicrotask(() => this.#send());
    const batch: Batch = { options, reads: [] };
    this.#batches.push(batch);
    return batch;
  }

  #send(): void {
    const batches = this.#batches;
    this.#batches = [];
    for (const { options, reads } of batches) {
      const [first, ...others] = reads;
      if (first !== undefined && others.length === 0) void this.#sendAlone(first, options);
      else void this.#sendTogether(reads, options);
    }
  }

  async #sendAlone({ request, answer }: Read, options: TimedCall): Promise<void> {
    await this.#client.call(range, request, options).then(answer.resolve, answer.reject);
  }

  async #sendTogether(reads: readonly Read[], options: TimedCall): Promise<void> {
    const endsAtMs = systemClock.monotonic() + options.timeoutMs;
    const success = reads.map(({ request }) => ({ range: request }));
    try {
      const { ranges } = await this.#client.call(txn, { compare: [], success, failure: [] }, options);
      for (const [index, { answer }] of reads.entries()) {
        const part = ranges[index];
        if (part === undefined) throw partMissing();
        answer.resolve(part);
      }
    } catch (error) {
      const timeoutMs = endsAtMs - systemClock.monotonic();
      const alone = isOfTheBatch(error) && timeoutMs > 0;
      for (const read of reads) {
        if (alone) void this.#sendAlone(read, { ...options, timeoutMs });
        else read.answer.reject(error);
      }
    }
  }
}

/**
 * Whether the reads may succeed one by one: the user may not read one of the keys, or the server
 * accepts fewer operations in a transaction.
 */
function isOfTheBatch(error: unknown): boolean {
  return isIncumbentError(error, 'PERMISSION_DENIED') || isIncumbentError(error, 'TOO_LARGE');
}
