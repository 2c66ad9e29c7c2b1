/** Queue entries as etcd's transactions. */

import type { Entry, EnqueueOptions, Key, LeaseId, QueueLook, TimedCall } from '@incumbent/core';
import { StoreError, withoutValue } from '@incumbent/core/adapter';

import { partMissing } from './errors.ts';
import { boundLease, leaseIdOf, type Namespace } from './namespace.ts';
import type { KeyValue, Operation, TxnAnswer } from './protocol/kv.ts';
import type { Swaps } from './swaps.ts';
import { firstOf } from './transactions.ts';

export interface QueueEntry {
  readonly prefix: Key;
  readonly key: Key;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
}

/** Creates the entry, or returns the existing one if it is bound to the same lease. */
export async function enqueue(swaps: Swaps, namespace: Namespace, wanted: QueueEntry, options: TimedCall<EnqueueOptions>): Promise<Entry> {
  const { look } = options;
  const key = namespace.key(wanted.key);
  const lease = boundLease(wanted.lease);
  // A copy, because the caller may use its bytes again.
  const value = new Uint8Array(wanted.value);
  const answer = await swaps.swap(
    {
      compare: [{ key, created: 0n }],
      success: [{ put: key, value, lease }, ...(look === undefined ? [] : readsOf(namespace, wanted.prefix, look))],
      failure: [{ range: { key } }],
    },
    options,
  );
  if (!answer.succeeded) return existing(namespace, wanted, firstOf(answer, 0));
  if (look !== undefined) show(look, namespace, key, answer);
  return namespace.entry({ key, value, createRevision: answer.revision, modRevision: answer.revision, lease });
}

/** The operations of a look, after the one that creates the entry. */
function readsOf(namespace: Namespace, prefix: Key, { key, last }: QueueLook): readonly Operation[] {
  const newest = { ...namespace.under(prefix), byCreation: 'descending', limit: last + 1, keysOnly: true } as const;
  return [{ range: newest }, { range: { key: namespace.key(key) } }];
}

/** Passes on what the operations of a look have read. The new entry is the newest. */
function show(look: QueueLook, namespace: Namespace, created: string, { ranges: [, newest, found] }: TxnAnswer): void {
  if (newest === undefined || found === undefined) throw partMissing();
  const ahead = newest.kvs.filter(({ key }) => key !== created).slice(0, look.last);
  const [kv] = found.kvs;
  look.seen(ahead.map((each) => withoutValue(namespace.entry(each))).toReversed(), kv === undefined ? undefined : namespace.entry(kv));
}

function existing(namespace: Namespace, { key, lease }: QueueEntry, kv: KeyValue | undefined): Entry {
  if (kv !== undefined && leaseIdOf(kv.lease) === lease) return namespace.entry(kv);
  throw new StoreError('STORE_FAILED', 'refused', `etcd: there is an entry ${key} already, under another lease`);
}
