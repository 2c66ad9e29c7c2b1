/** Linearizable reads. Reads that are made at the same time are one request. */

import type { TimedCall } from '@incumbent/core';
import { isIncumbentError } from '@incumbent/core/adapter';

import { type BatchContents, Batcher } from './batcher.ts';
import type { Client } from './client/client.ts';
import { partMissing } from './errors.ts';
import { range, type RangeAnswer, type RangeRequest, txn, type TxnAnswer } from './protocol/kv.ts';

/** The answer has to fit into one message, and each value may have 704 KiB. */
const MAX_READS = 16;

/** Reading the state of an election is one request, and shows one revision of the store. */
export class Reads {
  readonly #batcher: Batcher<RangeRequest, RangeAnswer>;

  constructor(client: Client) {
    this.#batcher = new Batcher({
      mayShare: () => true,
      newContents: () => new ReadContents(),
      sendOne: (read, options) => client.call(range, read, options),
      async sendAll(reads, options) {
        const success = reads.map((read) => ({ range: read }));
        const answer = await client.call(txn, { compare: [], success, failure: [] }, options).catch(unlessUnreadable);
        return answer && reads.map((_, index) => partOf(answer, index));
      },
    });
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  range(request: RangeRequest, options: TimedCall): Promise<RangeAnswer> {
    return this.#batcher.send(request, options);
  }
}

class ReadContents implements BatchContents<RangeRequest> {
  #reads = 0;

  add(): boolean {
    if (this.#reads === MAX_READS) return false;
    this.#reads += 1;
    return true;
  }
}

/** Undefined for an answer that cannot be read: it may be too long, where each part is not. */
function unlessUnreadable(error: unknown): undefined {
  if (!isIncumbentError(error, 'STORE_FAILED')) throw error;
}

function partOf({ ranges }: TxnAnswer, index: number): RangeAnswer {
  const part = ranges[index];
  if (part === undefined) throw partMissing();
  return part;
}
