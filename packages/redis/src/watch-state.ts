/** A copy of a part of the store, kept up to date by what scripts tell. */

import type { Entry, Key, LeaseId } from '@incumbent/core';

import type { Change } from './protocol/changes.ts';
import type { Look } from './reads.ts';
import type { Row } from './namespace.ts';

export interface Mirror<T> {
  /** What to look at. */
  readonly look: Look;
  /** Takes what was seen in place of what it had. */
  reset(rows: readonly Row[]): void;
  /** Takes changes of its own keys, in order, which were made at once. False: it does not know what has become of one, and has taken none. */
  apply(changes: readonly Change[]): boolean;
  /** The lease is gone: so are its keys. */
  drop(lease: LeaseId): void;
  rows(): Iterable<Row>;
  /** As the contract shows it. */
  state(): T;
}

export class KeyMirror implements Mirror<Entry | undefined> {
  readonly look: { readonly key: Key };
  #row: Row | undefined;

  constructor(key: Key) {
    this.look = { key };
  }

  reset(rows: readonly Row[]): void {
    [this.#row] = rows;
  }

  apply(changes: readonly Change[]): boolean {
    const last = changes.at(-1);
    if (last?.kind === 'changed') return false;
    this.#row = last?.kind === 'put' ? last.row : undefined;
    return true;
  }

  drop(lease: LeaseId): void {
    if (this.#row?.entry.lease === lease) this.#row = undefined;
  }

  rows(): Iterable<Row> {
    return this.#row === undefined ? [] : [this.#row];
  }

  state(): Entry | undefined {
    return this.#row?.entry;
  }
}

export class ListMirror implements Mirror<readonly Entry[]> {
  readonly look: { readonly prefix: Key };
  readonly #rows = new Map<Key, Row>();

  constructor(prefix: Key) {
    this.look = { prefix };
  }

  reset(rows: readonly Row[]): void {
    this.#rows.clear();
    for (const row of rows) this.#rows.set(row.entry.key, row);
  }

  apply(changes: readonly Change[]): boolean {
    if (changes.some(({ kind }) => kind === 'changed')) return false;
    for (const change of changes) {
      if (change.kind === 'put') this.#rows.set(change.key, change.row);
      else this.#rows.delete(change.key);
    }
    return true;
  }

  drop(lease: LeaseId): void {
    for (const [key, { entry }] of this.#rows) if (entry.lease === lease) this.#rows.delete(key);
  }

  rows(): Iterable<Row> {
    return this.#rows.values();
  }

  state(): readonly Entry[] {
    return Array.from(this.#rows.values(), ({ entry }) => entry).toSorted((a, b) => Number(a.order - b.order));
  }
}
