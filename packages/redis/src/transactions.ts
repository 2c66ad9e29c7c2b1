/** Swaps and queue entries: one script each. */

import type { Change, Entry, Key, LeaseId, SwapResult } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

import { leaseGone, tooLarge } from './errors.ts';
import { bytesOf, listOf, malformed, numberOf, rowOf, textOf } from './namespace.ts';
import type { Reply } from './protocol/resp.ts';

/** Far more than an election needs. */
export const MAX_CHANGES = 128;

/** Servers take longer ones; but run one script at a time. */
export const MAX_VALUE_BYTES: number = 2 ** 20;

/** The arguments of `swap`. Throws `TOO_LARGE`. A copy of the values: the caller may use its bytes again. */
export function swapArgs(changes: readonly Change[]): readonly (string | Uint8Array)[] {
  if (changes.length > MAX_CHANGES) throw tooLarge(`${changes.length} changes are more than the ${MAX_CHANGES} that one swap may have`);
  return changes.flatMap((change) => {
    const { key } = change;
    const expect = expectation(change.expect);
    if ('delete' in change) return [key, expect, 'd', 'n', ''];
    if (!('put' in change)) return [key, expect, 'c', 'n', ''];
    return [key, expect, 'p', binding(change.lease), checkedValue(change.put)];
  });
}

/** Throws `TOO_LARGE`. */
export function checkedValue(value: Uint8Array): Uint8Array {
  if (value.length > MAX_VALUE_BYTES) throw tooLarge(`a value of ${value.length} bytes is longer than ${MAX_VALUE_BYTES}`);
  return new Uint8Array(value);
}

/** No revision is empty: one that is expected to be is nobody's. */
function expectation(expect: string | null): string {
  if (expect === null) return '';
  return expect === '' ? '-' : expect;
}

function binding(lease: LeaseId | 'keep' | null | undefined): string {
  if (lease === undefined || lease === 'keep') return 'k';
  return lease === null ? 'n' : `l${lease}`;
}

/** What `swap` answers. */
export function swapResult(answer: Reply, count: number): SwapResult {
  const [kind, ...rest] = listOf(answer);
  switch (textOf(bytesOf(kind))) {
    case 'done':
      if (rest.length !== count) throw malformed();
      return { swapped: true, revisions: rest.map((revision) => textOf(bytesOf(revision)) || undefined) };
    case 'failed':
      return { swapped: false, failed: failedIn(rest) };
    case 'lease':
      throw leaseGone(textOf(bytesOf(rest[0])));
    default:
      throw malformed();
  }
}

function failedIn(words: readonly Reply[]): Extract<SwapResult, { swapped: false }>['failed'] {
  const pairs = Array.from({ length: words.length / 2 }, (_, i) => words.slice(2 * i, 2 * i + 2));
  return pairs.map(([index, current]) => ({ index: numberOf(index) - 1, current: rowOf(current ?? null)?.entry }));
}

/** What `enqueue` answers. */
export function enqueued(answer: Reply, key: Key, lease: LeaseId): Entry {
  const [kind, row] = listOf(answer);
  switch (textOf(bytesOf(kind))) {
    case 'done': {
      const entry = rowOf(row ?? null)?.entry;
      if (entry === undefined) throw malformed();
      return entry;
    }
    case 'taken':
      throw new StoreError('STORE_FAILED', 'refused', `redis: there is an entry ${key} already, under another lease`);
    case 'lease':
      throw leaseGone(lease);
    default:
      throw malformed();
  }
}
