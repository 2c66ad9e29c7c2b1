/** Swaps: each is one script. */

import type { CallOptions, Change, LeaseId, SwapResult } from '@incumbent/core';
import { checkChanges } from '@incumbent/core/adapter';
import { checkSwapSize, leaseGone } from '@incumbent/network';

import { LIMITS } from './capabilities.ts';
import type { StoreCalls } from './client/store-calls.ts';
import { storedEntryOf } from './protocol/entries.ts';
import { malformed } from './protocol/failure.ts';
import { bytesOf, listOf, numberOf, textOf } from './protocol/replies.ts';
import type { Reply } from './protocol/resp.ts';
import type { Script } from './scripts/script.ts';
import { freeingSwapScript, swapScript } from './scripts/transactions.ts';

export async function compareAndSwap(calls: StoreCalls, changes: readonly Change[], options: CallOptions): Promise<SwapResult> {
  const call = calls.check(options);
  checkChanges(changes);
  const read = (answer: Reply): SwapResult => swapResult(answer, changes.length);
  return calls.run({ method: 'compareAndSwap', script: swapScriptOf(changes), args: swapArgs(changes), read }, call);
}

/**
 * A swap that deletes keys and creates none. A resignation and a handover are such swaps. If a full
 * memory prevented them, a leader that has stopped would hold its record until memory is free.
 */
function swapScriptOf(changes: readonly Change[]): Script {
  const deletes = changes.some((change) => 'delete' in change);
  const creates = changes.some((change) => 'put' in change && change.expect === null);
  return deletes && !creates ? freeingSwapScript : swapScript;
}

/**
 * The arguments of the script, with copies of the values: the caller may change its bytes
 * afterwards. Throws `TOO_LARGE`.
 */
export function swapArgs(changes: readonly Change[]): readonly (string | Uint8Array)[] {
  checkSwapSize(LIMITS, changes);
  return changes.flatMap((change) => {
    const { key } = change;
    const expect = expectation(change.expect);
    if ('delete' in change) return [key, expect, 'd', 'n', ''];
    if (!('put' in change)) return [key, expect, 'c', 'n', ''];
    return [key, expect, 'p', binding(change.lease), new Uint8Array(change.put)];
  });
}

/**
 * For the script, empty means absent. No key has an empty revision, and none has the revision `-`.
 */
function expectation(expect: string | null): string {
  if (expect === null) return '';
  return expect === '' ? '-' : expect;
}

function binding(lease: LeaseId | 'keep' | null | undefined): string {
  if (lease === undefined || lease === 'keep') return 'k';
  return lease === null ? 'n' : `l${lease}`;
}

/** Reads the answer of the script to `count` changes. */
export function swapResult(answer: Reply, count: number): SwapResult {
  const items = listOf(answer);
  if (items.length > 1 + 2 * count) throw malformed();
  const [kind, ...rest] = items;
  switch (textOf(bytesOf(kind))) {
    case 'done':
      if (rest.length !== count) throw malformed();
      return { swapped: true, revisions: rest.map((revision) => textOf(bytesOf(revision)) || undefined) };
    case 'failed':
      return { swapped: false, failed: failedIn(rest) };
    case 'lease':
      throw leaseGone('redis', textOf(bytesOf(rest[0])));
    default:
      throw malformed();
  }
}

function failedIn(items: readonly Reply[]): Extract<SwapResult, { swapped: false }>['failed'] {
  const pairs = Array.from({ length: items.length / 2 }, (_, i) => items.slice(2 * i, 2 * i + 2));
  return pairs.map(([index, current]) => ({ index: numberOf(index) - 1, current: storedEntryOf(current ?? null)?.entry }));
}
