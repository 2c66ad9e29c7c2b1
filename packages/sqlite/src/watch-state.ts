/** The state of one watched key or prefix, and the watches that it is shown to. */

import type { StoreError } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';

import type { Row } from './schema/tables.ts';

/** One watch. A watch of a key is shown one row, or none if the key is absent. */
export type Watch = WatchController<readonly Row[]>;

/** All states share this array, because there may be thousands without a watch that waits. */
const NONE: readonly Watch[] = [];

/** Arrays, because most keys have one watch, and a process may watch thousands of keys. */
export class WatchState {
  #rows: readonly Row[] = [];
  /** The watches that have shown the rows. */
  #current = NONE;
  /** The watches that are new or stale. They show the next state that is read, changed or not. */
  #waiting = NONE;

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get isWatched(): boolean {
    return this.#current.length + this.#waiting.length > 0;
  }

  add(watch: Watch): void {
    this.#waiting = [...this.#waiting, watch];
  }

  delete(watch: Watch): void {
    this.#current = this.#current.filter((other) => other !== watch);
    this.#waiting = this.#waiting.filter((other) => other !== watch);
  }

  /** Shows new rows to all watches but those that wait, which `confirm` serves. */
  change(rows: readonly Row[]): void {
    this.#rows = rows;
    for (const watch of this.#current) watch.show(rows);
  }

  /** Shows the rows, which were just read, to the watches that wait. */
  confirm(): void {
    const shown = this.#waiting;
    this.#waiting = NONE;
    this.#current = [...this.#current, ...shown];
    for (const watch of shown) watch.show(this.#rows);
  }

  /** The rows may be out of date. Watches that were shown nothing yet are not notified. */
  lose(cause: StoreError): void {
    const lost = this.#current;
    this.#current = NONE;
    this.#waiting = [...this.#waiting, ...lost];
    for (const watch of lost) watch.lose(cause);
  }

  /** Ends all watches. */
  fail(cause: StoreError): void {
    for (const watch of [...this.#current, ...this.#waiting]) watch.fail(cause);
  }
}
