/** `compareAndSwap` and `enqueue`: changes of the one object that has all keys. */

import type { Change, Entry, Key, LeaseId, Revision, SwapResult } from '@incumbent/core';
import { type CallTime, keyTaken, leaseGone } from '@incumbent/network';

import { afterWriting, endedMeanwhile } from './errors.ts';
import type { KeyObject } from './keys/key-object.ts';
import { dataName, MAX_DATA_NAME, revisionOf, type StoredEntry } from './keys/codec.ts';
import type { Draft } from './keys/snapshot.ts';
import type { Leases } from './leases.ts';
import { tooLong } from './limits.ts';

export async function compareAndSwap(keys: KeyObject, leases: Leases, changes: readonly Change[], time: CallTime): Promise<SwapResult> {
  for (const { key } of changes) checkName(key);
  // Copied, because the caller may change its bytes.
  const copies = changes.map((change) => ('put' in change ? { ...change, put: new Uint8Array(change.put) } : change));
  const binds = boundBy(changes);
  await checkAlive(leases, binds, time);
  const change = keys.change<SwapResult>((draft) => {
    checkNotOver(leases, binds);
    const failed = copies.flatMap(({ key, expect }, index) => {
      const current = draft.entry(key);
      return (current?.revision ?? null) === expect ? [] : [{ index, current }];
    });
    if (failed.length > 0) return { result: { swapped: false, failed }, needsFresh: true };
    return { result: { swapped: true, revisions: applied(draft, copies) }, needsFresh: false };
  }, time.left);
  const result = await unlessEnding(leases, change, time);
  if (result.swapped) await checkStillAlive(leases, binds, time);
  else leases.noteMet(result.failed.flatMap(({ current }) => current?.lease ?? []));
  return result;
}

/**
 * Writes the key if it is absent. Otherwise resolves with the existing entry, which must have the
 * same lease.
 */
export async function enqueue(
  keys: KeyObject,
  leases: Leases,
  { key, value, lease }: Required<Pick<Entry, 'key' | 'value' | 'lease'>>,
  time: CallTime,
): Promise<Entry> {
  checkName(key);
  await checkAlive(leases, [lease], time);
  const change = keys.change<Entry | undefined>((draft) => {
    checkNotOver(leases, [lease]);
    const existing = draft.entry(key);
    if (existing !== undefined) return { result: existing, needsFresh: true };
    const number = draft.begin();
    draft.set(key, { value, created: number, modified: number, lease });
    return { result: draft.entry(key), needsFresh: false };
  }, time.left);
  const entry = await unlessEnding(leases, change, time);
  if (entry === undefined || entry.lease !== lease) throw keyTaken('kubernetes', key);
  await checkStillAlive(leases, [lease], time);
  return entry;
}

function applied(draft: Draft, changes: readonly Change[]): readonly (Revision | undefined)[] {
  const isCheck = changes.every((change) => !('put' in change) && !('delete' in change));
  const number = isCheck ? 0 : draft.begin();
  return changes.map((change) => {
    if ('delete' in change) draft.delete(change.key);
    if (!('put' in change)) return undefined;
    const before = draft.get(change.key);
    const entry: StoredEntry = {
      value: change.put,
      created: before?.created ?? number,
      modified: number,
      lease: leaseAfter(change.lease, before),
    };
    draft.set(change.key, entry);
    return revisionOf(draft.epoch, entry);
  });
}

function leaseAfter(asked: LeaseId | 'keep' | null | undefined, before: StoredEntry | undefined): LeaseId | undefined {
  return asked === undefined || asked === 'keep' ? before?.lease : (asked ?? undefined);
}

function boundBy(changes: readonly Change[]): readonly LeaseId[] {
  const asked = changes.map((change) => ('put' in change ? change.lease : undefined));
  return [...new Set(asked.filter((lease): lease is LeaseId => typeof lease === 'string' && lease !== 'keep'))];
}

/**
 * Refuses leases that are gone before the change is sent. Own leases are known without a request,
 * and one whose end was requested is ended first, so that it is certainly gone.
 */
async function checkAlive(leases: Leases, binds: readonly LeaseId[], time: CallTime): Promise<void> {
  for (const lease of binds) {
    if (leases.isOver(lease)) await leases.revoke(lease, time);
    else if (leases.isOwn(lease) || (await leases.exists(lease, time))) continue;
    throw leaseGone('kubernetes', lease);
  }
}

/** For a lease whose end was requested while the change waited to be sent. */
function checkNotOver(leases: Leases, binds: readonly LeaseId[]): void {
  for (const lease of binds) if (leases.isOver(lease)) throw new LeaseIsEnding(lease);
}

class LeaseIsEnding extends Error {
  readonly lease: LeaseId;

  constructor(lease: LeaseId) {
    super(`the lease ${lease} is ending`);
    this.lease = lease;
  }
}

/**
 * Settles as the change does. If a lease is ending meanwhile, ends it first, so that it is
 * certainly gone when this rejects.
 */
async function unlessEnding<T>(leases: Leases, change: Promise<T>, time: CallTime): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof LeaseIsEnding)) throw error;
    await leases.revoke(error.lease, time);
    throw leaseGone('kubernetes', error.lease);
  }
}

/** Finds a lease that ended between the check before the change and the change itself. */
async function checkStillAlive(leases: Leases, binds: readonly LeaseId[], time: CallTime): Promise<void> {
  for (const lease of binds) {
    const isAlive = await leases.exists(lease, time).catch((error: unknown) => {
      throw afterWriting(error, 'check of the lease');
    });
    if (!isAlive) throw endedMeanwhile(lease);
  }
}

function checkName(key: Key): void {
  if (dataName(key).length > MAX_DATA_NAME) throw tooLong(key);
}
