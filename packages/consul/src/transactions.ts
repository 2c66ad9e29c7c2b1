/** `compareAndSwap`: each swap is one transaction. */

import type { Change, LeaseId, Revision, SwapResult } from '@incumbent/core';
import { type CallTime, leaseGone, tooLarge } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { checkOperationErrors, refused } from './errors.ts';
import { readRevision, revisionOf, type Namespace } from './namespace.ts';
import type { Pair } from './protocol/kv.ts';
import { isSessionId } from './protocol/session.ts';
import { encode, MAX_BODY_BYTES, MAX_OPERATIONS, transact, type Operation } from './protocol/txn.ts';
import { readPair } from './reads.ts';

/** A change needs at most three operations. */
export const MAX_CHANGES: number = Math.floor(MAX_OPERATIONS / 3);

/**
 * Two such values, in base64, fit into a transaction, beside 16 KiB of other parts. A handover
 * writes two values: the successor's record as the leader, and the successor's entry.
 */
export const MAX_VALUE_BYTES: number = (((MAX_BODY_BYTES - 16 * 1_024) / 2) * 3) / 4;

const EMPTY = new Uint8Array(0);

/**
 * How often a transaction is sent if the servers refuse it although its expectations hold when they
 * are checked afterwards. A refused transaction did nothing.
 */
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
    const result = await transact(client, body, time.left);
    if (result.done) return { swapped: true, revisions: changes.map((change) => revisionAfter(namespace, change, result.pairs)) };
    checkOperationErrors(result.errors);
    why = result.errors[0]?.what ?? 'without a reason';
    const suspects = new Set(result.errors.map(({ operation }) => steps[operation]?.index));
    const failed = await firstFailed(client, namespace, changes, suspects, time);
    if (failed !== undefined) return { swapped: false, failed: [failed] };
  }
  throw refused('UNAVAILABLE', `a transaction was refused ${MAX_TRIES} times although its expectations hold: ${why}`);
}

/** The body of a transaction. Throws `TOO_LARGE` if the servers would refuse it. */
export function encodeChecked(operations: readonly Operation[]): string {
  if (operations.length > MAX_OPERATIONS) throw tooLarge('consul', `${operations.length} operations are more than ${MAX_OPERATIONS}`);
  const body = encode(operations);
  if (body.length > MAX_BODY_BYTES) throw tooLarge('consul', `a transaction of ${body.length} bytes is longer than ${MAX_BODY_BYTES}`);
  return body;
}

/** Binds a key to a lease. The key must be new, or locked by no session. */
export function lockOperation(path: string, value: Uint8Array, lease: LeaseId, flags: number): Operation {
  if (!isSessionId(lease)) throw leaseGone('consul', lease);
  return { verb: 'lock', path, value, session: lease, flags };
}

function operationsOf(namespace: Namespace, change: Change): readonly Operation[] {
  const path = namespace.path(change.key);
  if (change.expect === null) return creationOf(path, change);
  const { index, lease: bound } = readRevision(change.expect);
  const check: Operation = { verb: 'check-index', path, index };
  // Consul's own conditional deletion succeeds if the key is absent.
  if ('delete' in change) return [check, { verb: 'delete', path }];
  if (!('put' in change)) return [check];
  const { put: value, lease = 'keep' } = change;
  const wanted = lease === 'keep' ? bound : (lease ?? undefined);
  // The flags carry the expected index: a write of an equal value with equal flags would not change
  // the index of the key.
  const flags = index;
  if (wanted === bound) return [{ verb: 'cas', path, value, flags, index }];
  if (wanted === undefined) return [check, ...unlockOf(bound, path, value, flags)];
  // The lock sets the value, and nobody sees what the unlock of the same transaction has set.
  return [check, ...unlockOf(bound, path, EMPTY, flags), lockOperation(path, value, wanted, flags)];
}

function unlockOf(session: LeaseId | undefined, path: string, value: Uint8Array, flags: number): readonly Operation[] {
  return session === undefined ? [] : [{ verb: 'unlock', path, value, flags, session }];
}

function creationOf(path: string, change: Change): readonly Operation[] {
  if (!('put' in change)) return [{ verb: 'check-not-exists', path }];
  const { put: value, lease = 'keep' } = change;
  if (lease === 'keep' || lease === null) return [{ verb: 'cas', path, value, flags: 0, index: 0 }];
  return [{ verb: 'check-not-exists', path }, lockOperation(path, value, lease, 0)];
}

/**
 * Not every operation returns a pair, so the pairs are found by their keys. The last pair of a key
 * is the final one.
 */
function revisionAfter(namespace: Namespace, change: Change, pairs: readonly Pair[]): Revision | undefined {
  if (!('put' in change)) return undefined;
  const pair = pairs.findLast(({ path }) => path === namespace.path(change.key));
  return pair === undefined ? undefined : revisionOf(pair);
}

type Failed = Extract<SwapResult, { swapped: false }>['failed'][number];

/**
 * The first of the suspected changes whose expectation does not hold; undefined if all hold by now.
 */
async function firstFailed(
  client: Client,
  namespace: Namespace,
  changes: readonly Change[],
  suspects: ReadonlySet<number | undefined>,
  time: CallTime,
): Promise<Failed | undefined> {
  for (const [index, { key, expect }] of changes.entries()) {
    if (!suspects.has(index)) continue;
    const pair = await readPair(client, namespace, key, time);
    const current = pair === undefined ? undefined : namespace.entry(pair);
    if ((current?.revision ?? null) !== expect) return { index, current };
  }
  return undefined;
}
