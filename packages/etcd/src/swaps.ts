/** Transactions that write. Those that begin at the same time are one request. */

import type { TimedCall } from '@incumbent/core';

import { Batches, type Contents } from './batches.ts';
import type { Client } from './client/client.ts';
import { type TxnAnswer, txn, type TxnRequest, type WriteOperation } from './protocol/kv.ts';

/** The most comparisons of one transaction. A server allows 128 by default. */
const MAX_COMPARES = 64;

/** The most bytes of values. A server allows 1.5 MiB for the whole request by default. */
const MAX_VALUES_BYTES: number = 512 * 2 ** 10;

/** What is written if all comparisons are true, and what is read if not. */
export interface Swap extends TxnRequest {
  readonly success: readonly WriteOperation[];
}

/**
 * A transaction of several swaps makes all swaps or none. It stands for these swaps one after the
 * other, in any order, because of what they may not have in common: see {@link SwapContents}.
 */
export class Swaps {
  readonly #batches: Batches<Swap, TxnAnswer>;

  constructor(client: Client) {
    this.#batches = new Batches({
      mayShare,
      newContents: () => new SwapContents(),
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

/**
 * Whether the swap puts a value, and is not too large to share a transaction. etcd answers a
 * transaction that neither writes nor reads from the state of one member, which may be old. And a
 * server without space still deletes keys, unless the same transaction puts a value.
 */
function mayShare(swap: Swap): boolean {
  const puts = swap.success.some((write) => 'put' in write);
  return puts && swap.compare.length <= MAX_COMPARES && valueBytes(swap) <= MAX_VALUES_BYTES;
}

/**
 * No key belongs to two swaps, because etcd compares everything before it writes anything. (A swap
 * compares each key that it writes.) No two swaps create keys in the same place, because all keys
 * that a transaction creates have the same create revision, which is the order of a list.
 */
class SwapContents implements Contents<Swap> {
  #bytes = 0;
  readonly #keys = new Set<string>();
  readonly #places: string[] = [];

  add(swap: Swap): boolean {
    const { compare } = swap;
    const bytes = this.#bytes + valueBytes(swap);
    if (this.#keys.size + compare.length > MAX_COMPARES || bytes > MAX_VALUES_BYTES) return false;
    if (compare.some(({ key }) => this.#keys.has(key))) return false;
    const places = placesOf(swap);
    if (places.some((place) => this.#places.some((its) => place.startsWith(its) || its.startsWith(place)))) return false;
    this.#bytes = bytes;
    this.#places.push(...places);
    for (const { key } of compare) this.#keys.add(key);
    return true;
  }
}

function valueBytes({ success }: Swap): number {
  return success.reduce((sum, write) => ('put' in write ? sum + write.value.length : sum), 0);
}

/** Where a swap creates keys: the part of each key up to its last slash. */
function placesOf({ compare }: Swap): readonly string[] {
  const created = compare.filter((part) => 'created' in part);
  return created.map(({ key }) => key.slice(0, key.lastIndexOf('/') + 1));
}
