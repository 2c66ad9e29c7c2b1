/**
 * The contents of the simulated store: a state machine without time. Each method happens at one
 * instant, completely or not at all.
 */

import { StoreError, type Change, type Key, type LeaseId } from '@incumbent/core';

/** One key. A row is never changed, only replaced. */
export interface Row {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly revision: number;
  readonly order: number;
  readonly lease: LeaseId | undefined;
}

/** What changed a key. */
export type Cause =
  | { readonly by: 'client'; readonly owner: string }
  /** A lease expired. */
  | { readonly by: 'expiry' }
  /** The owner revoked the lease. */
  | { readonly by: 'revoke'; readonly owner: string }
  /** The owner died, and another process revoked the lease. */
  | { readonly by: 'reaper'; readonly owner: string }
  | { readonly by: 'operator' }
  /** The store ended a live lease, or lost an acknowledged write. */
  | { readonly by: 'store' };

export interface Changed {
  readonly key: Key;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
  readonly cause: Cause;
}

export type Swap =
  | { readonly swapped: true; readonly rows: readonly (Row | undefined)[] }
  | { readonly swapped: false; readonly failed: readonly { readonly index: number; readonly current: Row | undefined }[] };

/** Knows which leases are live and which keys are bound to them. */
export interface LeaseBook {
  /**
   * Checks that a lease may be used.
   *
   * @throws {StoreError} `LEASE_EXPIRED` if the lease is not live, `UNSUPPORTED` if it belongs to
   *   another client and cannot be bound to.
   */
  check(lease: LeaseId, owner: string): void;
}

/** The whole contents of a store. */
export interface Contents {
  readonly rows: ReadonlyMap<Key, Row>;
  /** The last revision. */
  readonly revision: number;
  /** How many keys were created. */
  readonly created: number;
}

/** The contents of a store that has lost everything, or was never written to. */
export const NOTHING: Contents = { rows: new Map(), revision: 0, created: 0 };

export interface StateRules {
  readonly revisionsSurviveDeletion: boolean;
  readonly swapSharesRevision: boolean;
  readonly maxChanges: number;
  readonly maxValueBytes: number;
}

export class State {
  readonly #rules: StateRules;
  readonly #changed: (changes: readonly Changed[]) => void;
  #rows = new Map<Key, Row>();
  #revision = NOTHING.revision;
  #created = NOTHING.created;

  /** Calls `changed` with the changes of each step, if there are any. */
  constructor(rules: StateRules, changed: (changes: readonly Changed[]) => void) {
    this.#rules = rules;
    this.#changed = changed;
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key);
  }

  /** All rows, in the order of creation. */
  all(): readonly Row[] {
    return [...this.#rows.values()];
  }

  /** The rows below `prefix/`, in the order of creation. */
  below(prefix: Key): readonly Row[] {
    const path = `${prefix}/`;
    const rows: Row[] = [];
    for (const row of this.#rows.values()) if (row.key.startsWith(path)) rows.push(row);
    return rows;
  }

  swap(changes: readonly Change[], leases: LeaseBook, owner: string): Swap {
    this.#checkSizes(changes);
    const failed = changes.flatMap((change, index) => this.#failure(change, index));
    if (failed.length > 0) return { swapped: false, failed };
    const bindings = changes.map((change) => this.#binding(change, leases, owner));
    const changed: Changed[] = [];
    this.#begin();
    const rows = changes.map((change, index) => this.#apply(change, bindings[index], { by: 'client', owner }, changed));
    this.#tell(changed);
    return { swapped: true, rows };
  }

  enqueue(key: Key, value: Uint8Array, lease: LeaseId, leases: LeaseBook, owner: string): Row {
    this.#checkValue(value);
    leases.check(lease, owner);
    const before = this.#rows.get(key);
    if (before?.lease === lease) return before;
    if (before !== undefined) throw new StoreError('STORE_FAILED', 'refused', `${key} is there already, and not under the lease ${lease}`);
    this.#begin();
    const after = this.#put(key, value, lease);
    this.#tell([{ key, before, after, cause: { by: 'client', owner } }]);
    return after;
  }

  /** Writes a key as an operator does: unconditionally, and bound to no lease. */
  force(key: Key, value: Uint8Array): void {
    const before = this.#rows.get(key);
    this.#begin();
    const after = this.#put(key, value, undefined);
    this.#tell([{ key, before, after, cause: { by: 'operator' } }]);
  }

  /** Removes the keys that exist. */
  remove(keys: Iterable<Key>, cause: Cause): void {
    const changed: Changed[] = [];
    for (const key of keys) {
      const before = this.#rows.get(key);
      if (before === undefined) continue;
      this.#rows.delete(key);
      changed.push({ key, before, after: undefined, cause });
    }
    this.#tell(changed);
  }

  /** Removes the keys bound to a lease. */
  removeOf(lease: LeaseId, cause: Cause): void {
    const keys: Key[] = [];
    for (const row of this.#rows.values()) if (row.lease === lease) keys.push(row.key);
    this.remove(keys, cause);
  }

  /** The contents now, for {@link State.restore}. */
  copy(): Contents {
    return { rows: new Map(this.#rows), revision: this.#revision, created: this.#created };
  }

  /** Replaces the contents by those of a copy. Later writes get revisions that were used before. */
  restore({ rows, revision, created }: Contents): void {
    const changed: Changed[] = [];
    for (const key of new Set([...this.#rows.keys(), ...rows.keys()])) {
      const [before, after] = [this.#rows.get(key), rows.get(key)];
      if (before !== after) changed.push({ key, before, after, cause: { by: 'store' } });
    }
    this.#rows = new Map(rows);
    this.#revision = revision;
    this.#created = created;
    this.#tell(changed);
  }

  #tell(changes: readonly Changed[]): void {
    if (changes.length > 0) this.#changed(changes);
  }

  #checkSizes(changes: readonly Change[]): void {
    const { maxChanges } = this.#rules;
    if (changes.length > maxChanges) {
      throw new StoreError('TOO_LARGE', 'refused', `${changes.length} changes in one swap: ${maxChanges} are allowed`);
    }
    for (const change of changes) if ('put' in change) this.#checkValue(change.put);
  }

  #checkValue(value: Uint8Array): void {
    const { maxValueBytes } = this.#rules;
    if (value.length > maxValueBytes) {
      throw new StoreError('TOO_LARGE', 'refused', `a value of ${value.length} bytes: ${maxValueBytes} are allowed`);
    }
  }

  #failure(change: Change, index: number): readonly { index: number; current: Row | undefined }[] {
    const current = this.#rows.get(change.key);
    const found = current === undefined ? null : String(current.revision);
    return found === change.expect ? [] : [{ index, current }];
  }

  /**
   * Returns the lease that the change binds to. Runs before anything changes, because an expired
   * lease makes the whole swap fail.
   */
  #binding(change: Change, leases: LeaseBook, owner: string): LeaseId | undefined {
    if (!('put' in change) || change.lease === null) return undefined;
    if (change.lease !== undefined && change.lease !== 'keep') {
      leases.check(change.lease, owner);
      return change.lease;
    }
    return this.#rows.get(change.key)?.lease;
  }

  #apply(change: Change, lease: LeaseId | undefined, cause: Cause, changed: Changed[]): Row | undefined {
    const { key } = change;
    const before = this.#rows.get(key);
    if ('put' in change) {
      const after = this.#put(key, change.put, lease);
      changed.push({ key, before, after, cause });
      return after;
    }
    if (!('delete' in change)) return undefined;
    this.#rows.delete(key);
    changed.push({ key, before, after: undefined, cause });
    return undefined;
  }

  /** Takes the revision that all puts of one call share, if they share one. */
  #begin(): void {
    if (this.#rules.swapSharesRevision) this.#revision += 1;
  }

  #put(key: Key, value: Uint8Array, lease: LeaseId | undefined): Row {
    const before = this.#rows.get(key);
    if (!this.#rules.swapSharesRevision) this.#revision += 1;
    if (before === undefined) this.#created += 1;
    const revision = this.#rules.revisionsSurviveDeletion ? this.#revision : (before?.revision ?? 0) + 1;
    const row = { key, value, revision, order: before?.order ?? this.#created, lease };
    this.#rows.set(key, row);
    return row;
  }
}
