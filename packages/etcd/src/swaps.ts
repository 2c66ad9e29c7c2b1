/** Transactions that write. Those that begin at the same time are one request. */

import type { TimedCall } from '@incumbent/core';

import { Batches } from './batches.ts';
import type { Client } from './client/client.ts';
import { type TxnAnswer, txn, type TxnRequest, type WriteOperation } from './protocol/kv.ts';

/** Half of the server's default for `--max-txn-ops`. */
const MAX_COMPARES = 64;

/** What is written if all comparisons are true, and what is read if not. */
export interface Swap extends TxnRequest {
  /** Reads nothing. */
  readonly success: readonly WriteOperation[];
  /**
   * The queue that gets an entry. Entries of one transaction would have the same place in a queue.
   */
  readonly queue?: string;
}

/**
 * A transaction of several swaps makes all of them or none. etcd compares everything before it
 * writes anything, so no swap of a transaction may write what another one compares.
 */
export class Swaps {
  readonly #batches: Batches<Swap, TxnAnswer>;

  constructor(client: Client) {
    this.#batches = new Batches({
      mayAdd: (swaps, swap) => countCompares([...swaps, swap]) <= MAX_COMPARES && !swaps.some((other) => overlap(other, swap)),
      sendOne: (swap, options) => client.call(txn, swap, options),
      async sendAll(swaps, options) {
        const compare = swaps.flatMap((swap) => swap.compare);
        const success = swaps.flatMap((swap) => swap.success);
        const answer = await client.call(txn, { compare, success, failure: [] }, options);
        return answer.succeeded ? swaps.map(() => ({ ...answer, ranges: [] })) : undefined;
      },
    });
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  swap(swap: Swap, options: TimedCall): Promise<TxnAnswer> {
    return this.#batches.send(swap, options);
  }
}

function countCompares(swaps: readonly Swap[]): number {
  return swaps.reduce((sum, { compare }) => sum + compare.length, 0);
}

/** A swap compares each key that it writes. */
function overlap(one: Swap, other: Swap): boolean {
  if (one.queue !== undefined && one.queue === other.queue) return true;
  return one.compare.some(({ key }) => other.compare.some((compare) => compare.key === key));
}
