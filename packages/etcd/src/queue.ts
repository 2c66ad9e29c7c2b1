/** Queue entries as etcd's transactions. */

import type { Entry, EnqueueOptions, Key, LeaseId, QueueLook, TimedCall } from '@incumbent/core';
import { withoutValue } from '@incumbent/core/adapter';
import { keyTaken } from '@incumbent/network';

import { boundLease, leaseIdOf, type Namespace } from './namespace.ts';
import type { KeyValue, RangeRequest, TxnAnswer } from './protocol/kv.ts';
import type { WriteBatcher } from './write-batcher.ts';
import { firstOf } from './transactions.ts';

export interface QueueEntry {
  readonly prefix: Key;
  readonly key: Key;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
}

/** Creates the entry, or returns the existing one if it is bound to the same lease. */
export async function enqueue(
  writes: WriteBatcher,
  namespace: Namespace,
  wanted: QueueEntry,
  options: TimedCall<EnqueueOptions>,
): Promise<Entry> {
  const { look } = options;
  const key = namespace.key(wanted.key);
  const lease = boundLease(wanted.lease);
  // A copy, because the caller may use its bytes again.
  const value = new Uint8Array(wanted.value);
  const answer = await writes.send(
    {
      compare: [{ key, created: 0n }],
      success: [{ put: key, value, lease }],
      failure: [{ range: { key } }],
      ...(look === undefined ? {} : { reads: readsOf(namespace, wanted.prefix, look) }),
    },
    options,
  );
  if (!answer.succeeded) return existing(namespace, wanted, firstOf(answer, 0));
  if (look !== undefined) show(look, namespace, key, answer);
  return namespace.entry({ key, value, createRevision: answer.revision, modRevision: answer.revision, lease });
}

/**
 * The reads of a look. To sort a queue, etcd would read all of it. So it reads a few entries in any
 * order, and one more than a look may show: then the queue is longer.
 */
function readsOf(namespace: Namespace, prefix: Key, { key, last }: QueueLook): readonly RangeRequest[] {
  return [{ ...namespace.under(prefix), limit: last + 2, keysOnly: true }, { key: namespace.key(key) }];
}

/** Shows what was read: nothing if the new entry has had a transaction of its own. */
function show(look: QueueLook, namespace: Namespace, created: string, { ranges: [some, found] }: TxnAnswer): void {
  if (some === undefined || found === undefined) return;
  const others = some.kvs.filter(({ key }) => key !== created);
  if (others.length > look.last) return;
  const ahead = others.map((kv) => withoutValue(namespace.entry(kv))).toSorted((one, other) => (one.order < other.order ? -1 : 1));
  const [kv] = found.kvs;
  look.seen(ahead, kv && namespace.entry(kv));
}

function existing(namespace: Namespace, { key, lease }: QueueEntry, kv: KeyValue | undefined): Entry {
  if (kv !== undefined && leaseIdOf(kv.lease) === lease) return namespace.entry(kv);
  throw keyTaken('etcd', key);
}
