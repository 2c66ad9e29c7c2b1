/** The state of one watched key or prefix, and the watches that it is shown to. */

import type { StoreError } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';

import type { Row } from './schema/tables.ts';

/** One watch. A watch of a key is shown one row, or none if the key is absent. */
export type Watch = WatchController<readonly Row[]>;

export class WatchState {
  #rows: readonly Row[] = [];
  /** The watches that have shown the rows. */
  readonly #current = new Set<Watch>();
  /** The watches that are new or stale. They show the next state that is read, changed or not. */
  readonly #waiting = new Set<Watch>();

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get isWatched(): boolean {
    return this.#current.size + this.#waiting.size > 0;
  }

  add(watch: Watch): void {
    this.#waiting.add(watch);
  }

  delete(watch: Watch): void {
    this.#current.delete(watch);
    this.#waiting.delete(watch);
  }

  /** Shows new rows to all watches but those that wait, which `confirm` serves. */
  change(rows: readonly Row[]): void {
    this.#rows = rows;
    for (const watch of this.#current) watch.show(rows);
  }

  /** Shows the rows, which were just read, to the watches that wait. */
  confirm(): void {
    for (const watch of this.#waiting) {
      this.#waiting.delete(watch);
      this.#current.add(watch);
      watch.show(this.#rows);
    }
  }

  /** The rows may be out of date. Watches that were shown nothing yet are not notified. */
  lose(cause: StoreError): void {
    for (const watch of this.#current) {
      this.#current.delete(watch);
      this.#waiting.add(watch);
      watch.lose(cause);
    }
  }

  /** Ends all watches. */
  fail(cause: StoreError): void {
    const watches = [...this.#current, ...this.#waiting];
    for (const watch of watches) watch.fail(cause);
  }
}
