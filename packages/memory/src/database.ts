/** The data of a server: a state machine in plain synchronous code. Each method takes effect at one instant, wholly or not at all. */

import { StoreError, type Change, type Clock, type Key, type LeaseId, type Revision, type StoreCapabilities } from '@incumbent/core';
import { Leases, type HeldLease } from './leases.ts';
import { Rows, type Row } from './key-table.ts';

export type Limits = Pick<
  StoreCapabilities,
  'assignableLease' | 'revisionsSurviveDeletion' | 'maxChanges' | 'maxValueBytes' | 'minTtlMs' | 'maxTtlMs'
>;

export type Swap =
  | { readonly swapped: true; readonly rows: readonly (Row | undefined)[] }
  | { readonly swapped: false; readonly failed: readonly { readonly index: number; readonly current: Row | undefined }[] };

export class State {
  readonly #limits: Limits;
  readonly #changed: (keys: ReadonlySet<Key>) => void;
  readonly #rows = new Rows();
  readonly #leases: Leases;
  /** Of the store as a whole: rises with every put. */
  #revision = 0n;

  /** `changed` is called after each step that changed anything, with the keys that it changed. */
  constructor(clock: Clock, limits: Limits, changed: (keys: ReadonlySet<Key>) => void) {
    this.#limits = limits;
    this.#changed = changed;
    this.#leases = new Leases(clock, (lease) => this.#dropKeysOf(lease));
  }

  grant(ttlMs: number, owner: number): HeldLease {
    const { minTtlMs, maxTtlMs } = this.#limits;
    return this.#leases.grant(Math.min(Math.max(ttlMs, minTtlMs), maxTtlMs), owner);
  }

  renew(id: LeaseId): HeldLease {
    const lease = this.#live(id);
    this.#leases.renew(lease);
    return lease;
  }

  /** False: there was no such lease. */
  revoke(id: LeaseId): boolean {
    const lease = this.#leases.remove(id);
    if (lease !== undefined) this.#dropKeysOf(lease);
    return lease !== undefined;
  }

  leases(): readonly HeldLease[] {
    return this.#leases.all();
  }

  swap(changes: readonly Change[], owner: number): Swap {
    this.#checkSizes(changes);
    const failed = changes.flatMap((change, index) => this.#failure(change, index));
    if (failed.length > 0) return { swapped: false, failed };
    const bindings = changes.map((change) => this.#binding(change, owner));
    const rows = changes.map((change, index) => this.#apply(change, bindings[index]));
    this.#tell(changes.filter((change) => 'put' in change || 'delete' in change).map(({ key }) => key));
    return { swapped: true, rows };
  }

  enqueue(key: Key, value: Uint8Array, id: LeaseId, owner: number): Row {
    this.#checkValue(value);
    const lease = this.#bindable(id, owner);
    const row = this.#rows.get(key);
    if (row?.lease === id) return row;
    if (row !== undefined) throw new StoreError('STORE_FAILED', 'refused', `${key} is there already, and not under the lease ${id}`);
    const added = this.#put(key, value, lease);
    this.#tell([key]);
    return added;
  }

  read(key: Key): Row | undefined {
    return this.#rows.get(key);
  }

  list(prefix: Key): readonly Row[] {
    return this.#rows.below(prefix);
  }

  all(): readonly Row[] {
    return this.#rows.all();
  }

  /** Writes whatever is there, bound to no lease. */
  force(key: Key, value: Uint8Array): Row {
    const row = this.#put(key, value, undefined);
    this.#tell([key]);
    return row;
  }

  /** Deletes whatever is there. False: nothing was. */
  remove(key: Key): boolean {
    const there = this.#rows.get(key) !== undefined;
    if (there) {
      this.#delete(key);
      this.#tell([key]);
    }
    return there;
  }

  /** Ends every lease without touching its keys: no timer is left. */
  stop(): void {
    for (const lease of this.#leases.all()) this.#leases.remove(lease.id);
  }

  #checkSizes(changes: readonly Change[]): void {
    if (changes.length > this.#limits.maxChanges) {
      throw new StoreError('TOO_LARGE', 'refused', `${changes.length} changes in one swap: ${this.#limits.maxChanges} are allowed`);
    }
    for (const change of changes) if ('put' in change) this.#checkValue(change.put);
  }

  #checkValue(value: Uint8Array): void {
    if (value.length <= this.#limits.maxValueBytes) return;
    throw new StoreError('TOO_LARGE', 'refused', `a value of ${value.length} bytes: ${this.#limits.maxValueBytes} are allowed`);
  }

  #failure(change: Change, index: number): readonly { index: number; current: Row | undefined }[] {
    const current = this.#rows.get(change.key);
    const found = current === undefined ? null : revisionOf(current);
    return found === change.expect ? [] : [{ index, current }];
  }

  /** The lease that a put will be bound to. Found before anything changes, because a lease that is gone refuses the whole swap. */
  #binding(change: Change, owner: number): HeldLease | undefined {
    if (!('put' in change) || change.lease === null) return undefined;
    if (change.lease !== undefined && change.lease !== 'keep') return this.#bindable(change.lease, owner);
    const kept = this.#rows.get(change.key)?.lease;
    return kept === undefined ? undefined : this.#live(kept);
  }

  #bindable(id: LeaseId, owner: number): HeldLease {
    const lease = this.#live(id);
    if (this.#limits.assignableLease || lease.owner === owner) return lease;
    throw new StoreError('UNSUPPORTED', 'refused', `the lease ${id} is another client's, and this store binds a key only to one's own`);
  }

  #live(id: LeaseId): HeldLease {
    const lease = this.#leases.get(id);
    if (lease !== undefined) return lease;
    throw new StoreError('LEASE_EXPIRED', 'refused', `there is no lease ${id}`);
  }

  #apply(change: Change, lease: HeldLease | undefined): Row | undefined {
    if ('put' in change) return this.#put(change.key, change.put, lease);
    if ('delete' in change) this.#delete(change.key);
    return undefined;
  }

  #put(key: Key, value: Uint8Array, lease: HeldLease | undefined): Row {
    const former = this.#rows.get(key);
    this.#revision += 1n;
    const revision = this.#limits.revisionsSurviveDeletion ? this.#revision : (former?.revision ?? 0n) + 1n;
    const row = { key, value, revision, order: former?.order ?? this.#revision, lease: lease?.id };
    this.#unbind(former);
    lease?.keys.add(key);
    this.#rows.set(row);
    return row;
  }

  #delete(key: Key): void {
    this.#unbind(this.#rows.get(key));
    this.#rows.delete(key);
  }

  #unbind(row: Row | undefined): void {
    if (row?.lease !== undefined) this.#leases.get(row.lease)?.keys.delete(row.key);
  }

  #dropKeysOf(lease: HeldLease): void {
    for (const key of lease.keys) this.#rows.delete(key);
    this.#tell(lease.keys);
  }

  #tell(keys: Iterable<Key>): void {
    const changed = new Set(keys);
    if (changed.size > 0) this.#changed(changed);
  }
}

/** A row's revision, as the contract has it. */
export function revisionOf(row: Row): Revision {
  return String(row.revision);
}
