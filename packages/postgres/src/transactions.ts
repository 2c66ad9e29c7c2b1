/** Swaps: each is one function, which the server runs as one transaction. */

import type { CallOptions, Change, LeaseId, Revision, SwapResult } from '@incumbent/core';
import { checkChanges } from '@incumbent/core/adapter';
import { checkSwapSize, leaseGone } from '@incumbent/network';

import { LIMITS } from './capabilities.ts';
import { malformed } from './client/failure.ts';
import { entryAt, integerAt, type Row, textAt } from './client/rows.ts';
import { array, bytes, integer, type Literal, NULL, text } from './client/statement.ts';
import type { StoreCalls } from './client/store-calls.ts';
import { isOurs } from './leases.ts';

/** The columns of the answer: the kind of the row, the number of the change, and an entry. */
const [KIND, PLACE, ENTRY, REVISION, LEASE] = [0, 1, 2, 4, 6] as const;

/** No key has this revision. */
const NEVER = integer(-1);

export async function compareAndSwap(calls: StoreCalls, changes: readonly Change[], options: CallOptions): Promise<SwapResult> {
  calls.check(options);
  checkChanges(changes);
  for (const { key } of changes) calls.checkKey('key', key);
  const read = (rows: readonly Row[]): SwapResult => swapResult(rows, changes.length);
  return calls.run({ method: 'compareAndSwap', name: 'swap', args: swapArgs(changes), read }, options);
}

/** The arguments of the function `swap`. Throws `TOO_LARGE`. */
export function swapArgs(changes: readonly Change[]): readonly Literal[] {
  checkSwapSize(LIMITS, changes);
  return [
    array(
      'text',
      changes.map(({ key }) => text(key)),
    ),
    array(
      'bigint',
      changes.map(({ expect }) => expectation(expect)),
    ),
    array(
      'text',
      changes.map((change) => text(actOf(change))),
    ),
    array(
      'bytea',
      changes.map((change) => ('put' in change ? bytes(change.put) : NULL)),
    ),
    array(
      'text',
      changes.map((change) => text('put' in change ? bindingOf(change.lease) : 'n')),
    ),
  ];
}

function expectation(expect: Revision | null): Literal {
  if (expect === null) return NULL;
  return /^[1-9]\d{0,17}$/.test(expect) ? integer(BigInt(expect)) : NEVER;
}

function actOf(change: Change): 'p' | 'd' | 'c' {
  if ('put' in change) return 'p';
  return 'delete' in change ? 'd' : 'c';
}

function bindingOf(lease: LeaseId | 'keep' | null | undefined): string {
  if (lease === undefined || lease === 'keep') return 'k';
  if (lease === null) return 'n';
  // No lease has an empty name.
  return isOurs(lease) ? `l${lease}` : 'l';
}

/** Reads the answer of the function `swap` to `count` changes. */
export function swapResult(rows: readonly Row[], count: number): SwapResult {
  const [first] = rows;
  if (first === undefined || rows.length > count) throw malformed();
  const kind = textAt(first, KIND);
  switch (kind) {
    case 'done':
      if (rows.length !== count) throw malformed();
      return { swapped: true, revisions: rows.map((row) => row[REVISION] ?? undefined) };
    case 'failed':
      return { swapped: false, failed: rows.map(failedIn) };
    case 'lease':
      throw leaseGone('postgres', textAt(first, LEASE));
    default:
      throw malformed();
  }
}

function failedIn(row: Row): Extract<SwapResult, { swapped: false }>['failed'][number] {
  return { index: integerAt(row, PLACE) - 1, current: row[ENTRY] === null ? undefined : entryAt(row, ENTRY) };
}
