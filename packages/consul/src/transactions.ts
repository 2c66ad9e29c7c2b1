/** Swaps: one transaction each. */

import type { Change, Key, LeaseId, Revision, SwapResult } from '@incumbent/core';
import type { CallTime } from '@incumbent/network';

import { CONSISTENT, readKeys, type Pair } from './protocol/kv.ts';
import { encode, MAX_BODY_BYTES, MAX_OPERATIONS, transact, type Operation } from './protocol/txn.ts';
import { isSessionId } from './protocol/session.ts';
import { leaseGone, operationRefused, refused, tooLarge } from './errors.ts';
import type { Client } from './client/client.ts';
import { readRevision, revisionOf, type Namespace } from './namespace.ts';

/** A change takes three operations at the most. */
export const MAX_CHANGES: number = Math.floor(MAX_OPERATIONS / 3);

/** In base64 it has room in a transaction, with other changes beside it. */
export const MAX_VALUE_BYTES: number = 256 * 1_024;

/** A transaction that was refused did nothing: it is sent again when its expectations hold by then, so often at most. */
const MAX_TRIES = 5;

export async function compareAndSwap(
  client: Client,
  namespace: Namespace,
  changes: readonly Change[],
  time: CallTime,
): Promise<SwapResult> {
  const steps = changes.flatMap((change, index) => operationsOf(namespace, change).map((operation) => ({ index, operation })));
  const body = encodeChecked(steps.map(({ operation }) => operation));
  let why = '';
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const answer = await transact(client, body, time.left);
    if (answer.done) return { swapped: true, revisions: changes.map((change) => revisionAfter(namespace, change, answer.pairs)) };
    for (const { what } of answer.errors) {
      const error = operationRefused(what);
      if (error !== undefined) throw error;
    }
    why = answer.errors[0]?.what ?? 'for no reason';
    const failed = await firstFailed(
      client,
      namespace,
      changes,
      new Set(answer.errors.map(({ operation }) => steps[operation]?.index)),
      time,
    );
    if (failed !== undefined) return { swapped: false, failed: [failed] };
  }
  throw refused('UNAVAILABLE', `a transaction was refused again and again, ${why}`);
}

/** The changes within the limits of one swap. */
export function checkSize(changes: readonly Change[]): void {
  if (changes.length > MAX_CHANGES) throw tooLarge(`${changes.length} changes are more than the ${MAX_CHANGES} that one swap may have`);
  for (const change of changes) if ('put' in change) checkValue(change.put);
}

export function checkValue(value: Uint8Array): void {
  if (value.length > MAX_VALUE_BYTES) throw tooLarge(`a value of ${value.length} bytes is longer than ${MAX_VALUE_BYTES}`);
}

export function encodeChecked(operations: readonly Operation[]): string {
  if (operations.length > MAX_OPERATIONS) throw tooLarge(`${operations.length} operations are more than ${MAX_OPERATIONS}`);
  const body = encode(operations);
  if (body.length > MAX_BODY_BYTES) throw tooLarge(`a transaction of ${body.length} bytes is longer than ${MAX_BODY_BYTES}`);
  return body;
}

/** To bind a new key, or one that nobody holds. */
export function lockOf(path: string, value: Uint8Array, lease: LeaseId, flags: number): Operation {
  if (!isSessionId(lease)) throw leaseGone(lease);
  return { verb: 'lock', path, value, session: lease, flags };
}

function operationsOf(namespace: Namespace, change: Change): readonly Operation[] {
  const path = namespace.path(change.key);
  if (change.expect === null) return creationOf(path, change);
  const { index, lease: bound } = readRevision(change.expect);
  const check: Operation = { verb: 'check-index', path, index };
  // Consul's own conditional deletion takes a key that is gone for deleted.
  if ('delete' in change) return [check, { verb: 'delete', path }];
  if (!('put' in change)) return [check];
  const { put: value, lease = 'keep' } = change;
  const wanted = lease === 'keep' ? bound : (lease ?? undefined);
  // Else a write of the same value would leave the index as it is.
  const flags = index;
  if (wanted === bound) return [{ verb: 'cas', path, value, flags, index }];
  const unlock: readonly Operation[] = bound === undefined ? [] : [{ verb: 'unlock', path, value, flags, session: bound }];
  return [check, ...unlock, ...(wanted === undefined ? [] : [lockOf(path, value, wanted, flags)])];
}

function creationOf(path: string, change: Change): readonly Operation[] {
  if (!('put' in change)) return [{ verb: 'check-not-exists', path }];
  const { put: value, lease = 'keep' } = change;
  if (lease === 'keep' || lease === null) return [{ verb: 'cas', path, value, flags: 0, index: 0 }];
  return [{ verb: 'check-not-exists', path }, lockOf(path, value, lease, 0)];
}

/** Answers are found by their keys: not every operation has one. The last of a key's is what came of it. */
function revisionAfter(namespace: Namespace, change: Change, pairs: readonly Pair[]): Revision | undefined {
  if (!('put' in change)) return undefined;
  const pair = pairs.findLast(({ path }) => path === namespace.path(change.key));
  return pair === undefined ? undefined : revisionOf(pair);
}

type Failed = Extract<SwapResult, { swapped: false }>['failed'][number];

/** Of the changes that were refused, the first whose expectation does not hold: undefined where all do by now. */
async function firstFailed(
  client: Client,
  namespace: Namespace,
  changes: readonly Change[],
  suspects: ReadonlySet<number | undefined>,
  time: CallTime,
): Promise<Failed | undefined> {
  for (const [index, { key, expect }] of changes.entries()) {
    if (!suspects.has(index)) continue;
    const pair = await readNow(client, namespace, key, time);
    const current = pair === undefined ? undefined : namespace.entry(pair);
    if ((current?.revision ?? null) !== expect) return { index, current };
  }
  return undefined;
}

export async function readNow(client: Client, namespace: Namespace, key: Key, time: CallTime): Promise<Pair | undefined> {
  const { pairs } = await readKeys(client, namespace.key(key), CONSISTENT, time.left);
  return pairs[0];
}
