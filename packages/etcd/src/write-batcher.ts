/** Sends swaps that begin at the same time in one transaction. */

import type { TimedCall } from '@incumbent/core';

import { type BatchContents, Batcher } from './batcher.ts';
import type { Client } from './client/client.ts';
import { type RangeRequest, type TxnAnswer, txn, type TxnRequest, type WriteOperation } from './protocol/kv.ts';

/** The most comparisons, and operations, of one transaction. A server allows 128 by default. */
const MAX_COMPARES = 64;
const MAX_OPERATIONS = 96;

/** The most bytes of values. A server allows 1.5 MiB for the whole request by default. */
const MAX_VALUES_BYTES: number = 512 * 2 ** 10;

/** What is written if all comparisons are true, and what is read if not. */
export interface Swap extends TxnRequest {
  readonly success: readonly WriteOperation[];
  /**
   * What is read after the writes, only if the swap shares a transaction. Every member of the
   * cluster reads it in the step in which it writes, while all other writes and renewals wait. That
   * is worth it for a process that makes many swaps at once.
   */
  readonly reads?: readonly RangeRequest[];
}

/**
 * A transaction of several swaps makes all swaps or none. It stands for these swaps one after the
 * other, because of what they may not have in common: see {@link SwapContents}. A swap that also
 * reads sees what the swaps before it have written.
 */
export class WriteBatcher {
  readonly #batcher: Batcher<Swap, TxnAnswer>;

  constructor(client: Client) {
    this.#batcher = new Batcher({
      mayShare,
      newContents: () => new SwapContents(),
      sendOne: (swap, options) => client.call(txn, swap, options),
      async sendAll(swaps, options) {
        const compare = swaps.flatMap((swap) => swap.compare);
        const success = swaps.flatMap(operationsOf);
        const answer = await client.call(txn, { compare, success, failure: [] }, options);
        return answer.succeeded ? answersOf(swaps, answer) : undefined;
      },
    });
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  send(swap: Swap, options: TimedCall): Promise<TxnAnswer> {
    return this.#batcher.send(swap, options);
  }
}

/** What a swap does in a transaction that it shares. */
function operationsOf({ success, reads = [] }: Swap): TxnRequest['success'] {
  return [...success, ...reads.map((range) => ({ range }))];
}

/** The part of the answer that belongs to each swap: only what it has read. */
function answersOf(swaps: readonly Swap[], answer: TxnAnswer): readonly TxnAnswer[] {
  let end = 0;
  return swaps.map(({ success, reads = [] }) => {
    end += success.length + reads.length;
    return { ...answer, ranges: answer.ranges.slice(end - reads.length, end) };
  });
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
class SwapContents implements BatchContents<Swap> {
  #bytes = 0;
  #operations = 0;
  readonly #keys = new Set<string>();
  /** Where this transaction creates keys, and everything above those places. */
  readonly #places = new Set<string>();
  readonly #above = new Set<string>();

  add(swap: Swap): boolean {
    const { compare } = swap;
    const [bytes, operations] = [this.#bytes + valueBytes(swap), this.#operations + operationsOf(swap).length];
    if (this.#keys.size + compare.length > MAX_COMPARES || operations > MAX_OPERATIONS || bytes > MAX_VALUES_BYTES) return false;
    if (compare.some(({ key }) => this.#keys.has(key))) return false;
    const places = placesOf(swap);
    if (places.some((place) => this.#isTaken(place))) return false;
    this.#bytes = bytes;
    this.#operations = operations;
    for (const place of places) this.#takePlace(place);
    for (const { key } of compare) this.#keys.add(key);
    return true;
  }

  /** Whether the transaction creates keys in this place, in one above it, or in one below it. */
  #isTaken(place: string): boolean {
    return this.#places.has(place) || this.#above.has(place) || placesAbove(place).some((above) => this.#places.has(above));
  }

  #takePlace(place: string): void {
    this.#places.add(place);
    for (const above of placesAbove(place)) this.#above.add(above);
  }
}

function valueBytes({ success }: Swap): number {
  return success.reduce((sum, write) => ('put' in write ? sum + write.value.length : sum), 0);
}

/** `a/` and `a/b/` for `a/b/c/`. */
function placesAbove(place: string): readonly string[] {
  const above: string[] = [];
  for (let end = place.indexOf('/'); end !== -1 && end < place.length - 1; end = place.indexOf('/', end + 1))
    above.push(place.slice(0, end + 1));
  return above;
}

/** Where a swap creates keys: the part of each key up to its last slash. */
function placesOf({ compare }: Swap): readonly string[] {
  const created = compare.filter((part) => 'created' in part);
  return created.map(({ key }) => key.slice(0, key.lastIndexOf('/') + 1));
}
