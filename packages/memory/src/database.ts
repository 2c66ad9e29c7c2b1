/**
 * The keys and leases of a server, in synchronous code. Each method takes effect at one instant,
 * wholly or not at all.
 */

import type { Change, Clock, Key, LeaseId, Revision, StoreCapabilities } from '@incumbent/core';
import { keyTaken, leaseGone, leaseOfAnotherClient, tooLarge } from './errors.ts';
import { KeyTable, type Row } from './key-table.ts';
import { Leases, type ServerLease } from './leases.ts';

export type Limits = Pick<
  StoreCapabilities,
  'assignableLease' | 'revisionsSurviveDeletion' | 'revisionInSwap' | 'maxChanges' | 'maxValueBytes' | 'minTtlMs' | 'maxTtlMs'
>;

export type Swap =
  | { readonly swapped: true; readonly rows: readonly (Row | undefined)[] }
  | { readonly swapped: false; readonly failed: readonly { readonly index: number; readonly current: Row | undefined }[] };

export class Database {
  readonly #limits: Limits;
  readonly #changed: (keys: ReadonlySet<Key>) => void;
  readonly #keys = new KeyTable();
  readonly #leases: Leases;
  /** Rises with every call that puts a key, or with every put if a swap shares no revision. */
  #revision = 0;
  /** How many keys were created. */
  #created = 0;

  /** `changed` is called with the changed keys after each method call that changed any. */
  constructor(clock: Clock, limits: Limits, changed: (keys: ReadonlySet<Key>) => void) {
    this.#limits = limits;
    this.#changed = changed;
    this.#leases = new Leases(clock, (lease) => this.#dropKeysOf(lease));
  }

  grant(ttlMs: number, owner: number): ServerLease {
    const { minTtlMs, maxTtlMs } = this.#limits;
    return this.#leases.grant(Math.min(Math.max(ttlMs, minTtlMs), maxTtlMs), owner);
  }

  renew(id: LeaseId): ServerLease {
    const lease = this.#live(id);
    this.#leases.renew(lease);
    return lease;
  }

  /** Ends a lease and deletes its keys. False: there is no such lease. */
  revoke(id: LeaseId): boolean {
    const lease = this.#leases.remove(id);
    if (lease !== undefined) this.#dropKeysOf(lease);
    return lease !== undefined;
  }

  leases(): readonly ServerLease[] {
    return this.#leases.all();
  }

  swap(changes: readonly Change[], owner: number): Swap {
    this.#checkSizes(changes);
    const failed = changes.flatMap((change, index) => this.#failure(change, index));
    if (failed.length > 0) return { swapped: false, failed };
    const bindings = changes.map((change) => this.#binding(change, owner));
    this.#begin();
    const rows = changes.map((change, index) => this.#apply(change, bindings[index]));
    this.#notify(changes.filter((change) => 'put' in change || 'delete' in change).map(({ key }) => key));
    return { swapped: true, rows };
  }

  enqueue(key: Key, value: Uint8Array, id: LeaseId, owner: number): Row {
    this.#checkValue(value, key);
    const lease = this.#bindable(id, owner);
    const row = this.#keys.get(key);
    if (row?.lease === id) return row;
    if (row !== undefined) throw keyTaken(key, id);
    this.#begin();
    const added = this.#put(key, value, lease);
    this.#notify([key]);
    return added;
  }

  read(key: Key): Row | undefined {
    return this.#keys.get(key);
  }

  list(prefix: Key): readonly Row[] {
    return this.#keys.below(prefix);
  }

  all(): readonly Row[] {
    return this.#keys.all();
  }

  /** Creates or replaces a key, bound to no lease. */
  force(key: Key, value: Uint8Array): Row {
    this.#begin();
    const row = this.#put(key, value, undefined);
    this.#notify([key]);
    return row;
  }

  /** Deletes a key. False: the key is absent. */
  remove(key: Key): boolean {
    if (this.#keys.get(key) === undefined) return false;
    this.#delete(key);
    this.#notify([key]);
    return true;
  }

  /** Ends every lease, and so every timer, without deleting keys. */
  stop(): void {
    for (const lease of this.#leases.all()) this.#leases.remove(lease.id);
  }

  #checkSizes(changes: readonly Change[]): void {
    if (changes.length > this.#limits.maxChanges) {
      throw tooLarge(`${changes.length} changes in one swap: ${this.#limits.maxChanges} are allowed`);
    }
    for (const change of changes) if ('put' in change) this.#checkValue(change.put, change.key);
  }

  #checkValue(value: Uint8Array, key: Key): void {
    if (value.length <= this.#limits.maxValueBytes) return;
    throw tooLarge(`a value of ${value.length} bytes for the key ${key}: ${this.#limits.maxValueBytes} are allowed`);
  }

  #failure(change: Change, index: number): readonly { index: number; current: Row | undefined }[] {
    const current = this.#keys.get(change.key);
    const found = current === undefined ? null : revisionOf(current);
    return found === change.expect ? [] : [{ index, current }];
  }

  /**
   * The lease that a put binds the key to. Called before the first change, because a lease that has
   * ended refuses the whole swap.
   */
  #binding(change: Change, owner: number): ServerLease | undefined {
    if (!('put' in change) || change.lease === null) return undefined;
    if (change.lease !== undefined && change.lease !== 'keep') return this.#bindable(change.lease, owner);
    const kept = this.#keys.get(change.key)?.lease;
    return kept === undefined ? undefined : this.#live(kept);
  }

  #bindable(id: LeaseId, owner: number): ServerLease {
    const lease = this.#live(id);
    if (this.#limits.assignableLease || lease.owner === owner) return lease;
    throw leaseOfAnotherClient(id);
  }

  #live(id: LeaseId): ServerLease {
    const lease = this.#leases.get(id);
    if (lease !== undefined) return lease;
    throw leaseGone(id);
  }

  #apply(change: Change, lease: ServerLease | undefined): Row | undefined {
    if ('put' in change) return this.#put(change.key, change.put, lease);
    if ('delete' in change) this.#delete(change.key);
    return undefined;
  }

  /** Takes the revision that all puts of one call share, if they share one. */
  #begin(): void {
    if (this.#limits.revisionInSwap !== undefined) this.#revision += 1;
  }

  #put(key: Key, value: Uint8Array, lease: ServerLease | undefined): Row {
    const former = this.#keys.get(key);
    if (this.#limits.revisionInSwap === undefined) this.#revision += 1;
    const revision = this.#limits.revisionsSurviveDeletion ? this.#revision : (former?.revision ?? 0) + 1;
    if (former === undefined) this.#created += 1;
    const row = { key, value, revision, order: former?.order ?? this.#created, lease: lease?.id };
    this.#unbind(former);
    lease?.keys.add(key);
    this.#keys.set(row);
    return row;
  }

  #delete(key: Key): void {
    this.#unbind(this.#keys.get(key));
    this.#keys.delete(key);
  }

  #unbind(row: Row | undefined): void {
    if (row?.lease !== undefined) this.#leases.get(row.lease)?.keys.delete(row.key);
  }

  #dropKeysOf(lease: ServerLease): void {
    for (const key of lease.keys) this.#keys.delete(key);
    this.#notify(lease.keys);
  }

  #notify(keys: Iterable<Key>): void {
    const changed = new Set(keys);
    if (changed.size > 0) this.#changed(changed);
  }
}

/** The revision in the form of the store contract. */
export function revisionOf(row: Row): Revision {
  return String(row.revision);
}
