/** Swaps and queue entries: one transaction each. */

import type { CallOptions, Change, Entry, Key, LeaseId, SwapResult } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

import type { Client } from './client/client.ts';
import { leaseIdOf, leaseNumberOf, modRevisionOf, revisionOf, type Namespace } from './namespace.ts';
import { leaseGone } from './leases.ts';
import { txn, type Compare, type KeyValue, type Operation, type TxnAnswer } from './protocol/kv.ts';

/** The server's default for `--max-txn-ops`. */
export const MAX_CHANGES = 128;

/** Within the server's default of 1.5 MiB for a whole request, with room for its other parts. */
export const MAX_VALUE_BYTES: number = 2 ** 20;

export async function compareAndSwap(
  client: Client,
  namespace: Namespace,
  changes: readonly Change[],
  options: CallOptions,
): Promise<SwapResult> {
  checkSize(changes);
  const answer = await client.call(
    txn,
    {
      compare: changes.map((change) => compareOf(namespace, change)),
      success: changes.flatMap((change) => operationOf(namespace, change)),
      // Read in the same transaction, so that what was not swapped is told as it was then.
      failure: changes.map(({ key }) => ({ range: { key: namespace.key(key) } })),
    },
    options,
  );
  if (!answer.succeeded) return { swapped: false, failed: failedOf(namespace, changes, answer) };
  const revision = revisionOf(answer.revision);
  return { swapped: true, revisions: changes.map((change) => ('put' in change ? revision : undefined)) };
}

/** If the key is absent, writes it; if it is there, reads it. */
export async function enqueue(
  client: Client,
  namespace: Namespace,
  place: { readonly key: Key; readonly value: Uint8Array; readonly lease: LeaseId },
  options: CallOptions,
): Promise<Entry> {
  checkValue(place.value);
  const key = namespace.key(place.key);
  const lease = boundLease(place.lease);
  const answer = await client.call(
    txn,
    { compare: [{ key, created: 0n }], success: [{ put: key, value: place.value, lease }], failure: [{ range: { key } }] },
    options,
  );
  if (!answer.succeeded) return ownEntry(namespace, place, firstOf(answer, 0));
  // A copy: the caller may use its bytes again.
  return namespace.entry({ key, value: new Uint8Array(place.value), createRevision: answer.revision, modRevision: answer.revision, lease });
}

function ownEntry(namespace: Namespace, { key, lease }: { readonly key: Key; readonly lease: LeaseId }, kv: KeyValue | undefined): Entry {
  if (kv !== undefined && leaseIdOf(kv.lease) === lease) return namespace.entry(kv);
  throw new StoreError('STORE_FAILED', 'refused', `etcd: there is an entry ${key} already, under another lease`);
}

function compareOf(namespace: Namespace, { key, expect }: Change): Compare {
  const name = namespace.key(key);
  return expect === null ? { key: name, created: 0n } : { key: name, modified: modRevisionOf(expect) };
}

function operationOf(namespace: Namespace, change: Change): readonly Operation[] {
  const key = namespace.key(change.key);
  if ('delete' in change) return [{ delete: key }];
  if (!('put' in change)) return [];
  return [{ put: key, value: change.put, lease: bindingOf(change.lease, change.expect === null) }];
}

function bindingOf(lease: LeaseId | 'keep' | null | undefined, creates: boolean): bigint | 'keep' {
  // etcd refuses to keep the lease of a key that is not there.
  if (lease === 'keep' || lease === undefined) return creates ? 0n : 'keep';
  return lease === null ? 0n : boundLease(lease);
}

function boundLease(lease: LeaseId): bigint {
  const id = leaseNumberOf(lease);
  if (id === undefined) throw leaseGone(lease);
  return id;
}

function failedOf(namespace: Namespace, changes: readonly Change[], answer: TxnAnswer): Extract<SwapResult, { swapped: false }>['failed'] {
  const looks = changes.map((change, index) => {
    const kv = firstOf(answer, index);
    return { index, expect: change.expect, current: kv === undefined ? undefined : namespace.entry(kv) };
  });
  return looks.filter(({ expect, current }) => (current?.revision ?? null) !== expect).map(({ index, current }) => ({ index, current }));
}

function firstOf(answer: TxnAnswer, index: number): KeyValue | undefined {
  return answer.ranges[index]?.kvs[0];
}

function checkSize(changes: readonly Change[]): void {
  if (changes.length > MAX_CHANGES) throw tooLarge(`${changes.length} changes are more than the ${MAX_CHANGES} that one swap may have`);
  for (const change of changes) if ('put' in change) checkValue(change.put);
}

function checkValue(value: Uint8Array): void {
  if (value.length > MAX_VALUE_BYTES) throw tooLarge(`a value of ${value.length} bytes is longer than ${MAX_VALUE_BYTES}`);
}

function tooLarge(message: string): StoreError {
  return new StoreError('TOO_LARGE', 'refused', `etcd: ${message}`);
}
