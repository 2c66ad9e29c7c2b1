/** Transactions that write. Those that begin at the same time are one request. */

import type { TimedCall } from '@incumbent/core';

import { Batches } from './batches.ts';
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
 * other, in any order, because of what they may not have in common: see {@link areIndependent}.
 */
export class Swaps {
  readonly #batches: Batches<Swap, TxnAnswer>;

  constructor(client: Client) {
    this.#batches = new Batches({
      mayAdd: (swaps, swap) => mayShareRequest([...swaps, swap]) && swaps.every((other) => areIndependent(other, swap)),
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
 * Whether these swaps fit into one request, and each of them puts a value. etcd answers a
 * transaction that neither writes nor reads from the state of one member, which may be old. And a
 * server without space still deletes keys, unless the same transaction puts a value.
 */
function mayShareRequest(swaps: readonly Swap[]): boolean {
  const compares = swaps.reduce((sum, { compare }) => sum + compare.length, 0);
  const bytes = swaps.flatMap(valuesOf).reduce((sum, value) => sum + value.length, 0);
  return compares <= MAX_COMPARES && bytes <= MAX_VALUES_BYTES && swaps.every((swap) => valuesOf(swap).length > 0);
}

function valuesOf({ success }: Swap): readonly Uint8Array[] {
  return success.flatMap((write) => ('put' in write ? [write.value] : []));
}

/**
 * Whether no key belongs to both swaps, and both create no keys in the same place. etcd compares
 * everything before it writes anything, and a swap compares each key that it writes. All keys that
 * a transaction creates have the same create revision, which is the order of a list.
 */
function areIndependent(one: Swap, other: Swap): boolean {
  const hasKey = (key: string): boolean => other.compare.some((compare) => compare.key === key);
  if (one.compare.some(({ key }) => hasKey(key))) return false;
  const places = placesOf(other);
  return !placesOf(one).some((place) => places.some((its) => place.startsWith(its) || its.startsWith(place)));
}

/** Where a swap creates keys: the part of each key up to its last slash. */
function placesOf({ compare }: Swap): readonly string[] {
  const created = compare.filter((part) => 'created' in part);
  return created.map(({ key }) => key.slice(0, key.lastIndexOf('/') + 1));
}
