/** Swaps as etcd's transactions. */

import type { Change, LeaseId, SwapResult, TimedCall } from '@incumbent/core';

import { partMissing } from './errors.ts';
import { boundLease, modRevisionOf, revisionOf, type Namespace } from './namespace.ts';
import type { Compare, KeyValue, TxnAnswer, WriteOperation } from './protocol/kv.ts';
import type { WriteBatcher } from './write-batcher.ts';

export async function compareAndSwap(
  writes: WriteBatcher,
  namespace: Namespace,
  changes: readonly Change[],
  options: TimedCall,
): Promise<SwapResult> {
  const answer = await writes.send(
    {
      compare: changes.map((change) => compareOf(namespace, change)),
      success: changes.flatMap((change) => operationOf(namespace, change)),
      // Read in the same transaction, so that the result shows what the swap failed on.
      failure: changes.map(({ key }) => ({ range: { key: namespace.key(key) } })),
    },
    options,
  );
  if (!answer.succeeded) return { swapped: false, failed: failedOf(namespace, changes, answer) };
  const revision = revisionOf(answer.revision);
  return { swapped: true, revisions: changes.map((change) => ('put' in change ? revision : undefined)) };
}

function compareOf(namespace: Namespace, { key, expect }: Change): Compare {
  const name = namespace.key(key);
  return expect === null ? { key: name, created: 0n } : { key: name, modified: modRevisionOf(expect) };
}

function operationOf(namespace: Namespace, change: Change): readonly WriteOperation[] {
  const key = namespace.key(change.key);
  if ('delete' in change) return [{ delete: key }];
  if (!('put' in change)) return [];
  // A copy, because the caller may use its bytes again before they are sent.
  return [{ put: key, value: new Uint8Array(change.put), lease: bindingOf(change.lease, change.expect === null) }];
}

function bindingOf(lease: LeaseId | 'keep' | null | undefined, creates: boolean): bigint | 'keep' {
  // etcd refuses to keep the lease of a key that does not exist.
  if (lease === 'keep' || lease === undefined) return creates ? 0n : 'keep';
  return lease === null ? 0n : boundLease(lease);
}

/**
 * The key that the operation with this index has read. Undefined if there is no such key. Throws if
 * the answer has no part for the operation, which does not mean that the key is absent.
 */
export function firstOf({ ranges }: TxnAnswer, index: number): KeyValue | undefined {
  const answer = ranges[index];
  if (answer === undefined) throw partMissing();
  return answer.kvs[0];
}

function failedOf(namespace: Namespace, changes: readonly Change[], answer: TxnAnswer): Extract<SwapResult, { swapped: false }>['failed'] {
  const found = changes.map((change, index) => {
    const kv = firstOf(answer, index);
    return { index, expect: change.expect, current: kv === undefined ? undefined : namespace.entry(kv) };
  });
  return found.filter(({ expect, current }) => (current?.revision ?? null) !== expect).map(({ index, current }) => ({ index, current }));
}
