/** Queue entries as etcd's transactions. */

import type { Entry, Key, LeaseId, TimedCall } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

import { boundLease, leaseIdOf, type Namespace } from './namespace.ts';
import type { KeyValue } from './protocol/kv.ts';
import type { Swaps } from './swaps.ts';
import { firstOf } from './transactions.ts';

export interface QueueEntry {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
}

/** Creates the entry, or returns the existing one if it is bound to the same lease. */
export async function enqueue(swaps: Swaps, namespace: Namespace, wanted: QueueEntry, options: TimedCall): Promise<Entry> {
  const key = namespace.key(wanted.key);
  const lease = boundLease(wanted.lease);
  // A copy, because the caller may use its bytes again.
  const value = new Uint8Array(wanted.value);
  const answer = await swaps.swap(
    {
      compare: [{ key, created: 0n }],
      success: [{ put: key, value, lease }],
      failure: [{ range: { key } }],
    },
    options,
  );
  if (!answer.succeeded) return existing(namespace, wanted, firstOf(answer, 0));
  return namespace.entry({ key, value, createRevision: answer.revision, modRevision: answer.revision, lease });
}

function existing(namespace: Namespace, { key, lease }: QueueEntry, kv: KeyValue | undefined): Entry {
  if (kv !== undefined && leaseIdOf(kv.lease) === lease) return namespace.entry(kv);
  throw new StoreError('STORE_FAILED', 'refused', `etcd: there is an entry ${key} already, under another lease`);
}
