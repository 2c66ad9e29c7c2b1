/** A part of the file that somebody watches: what it showed last, and whom to tell. */

import type { StoreError } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';

import type { Row } from './schema/tables.ts';

/** One watch. It is shown no row, or one, where it is of one key. */
export type Reader = WatchController<readonly Row[]>;

export class View {
  #rows: readonly Row[] = [];
  /** They know the rows. */
  readonly #current = new Set<Reader>();
  /** They are new, or were told that they are stale: they are shown the next state, changed or not. */
  readonly #waiting = new Set<Reader>();

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get isWatched(): boolean {
    return this.#current.size + this.#waiting.size > 0;
  }

  add(reader: Reader): void {
    this.#waiting.add(reader);
  }

  delete(reader: Reader): void {
    this.#current.delete(reader);
    this.#waiting.delete(reader);
  }

  change(rows: readonly Row[]): void {
    this.#rows = rows;
    for (const reader of this.#current) reader.show(rows);
  }

  /** What the view holds was found to be true just now. */
  confirm(): void {
    for (const reader of this.#waiting) {
      this.#waiting.delete(reader);
      this.#current.add(reader);
      reader.show(this.#rows);
    }
  }

  /** Nothing can be vouched for. Who has seen nothing yet need not be told. */
  lose(cause: StoreError): void {
    for (const reader of this.#current) {
      this.#current.delete(reader);
      this.#waiting.add(reader);
      reader.lose(cause);
    }
  }

  fail(cause: StoreError): void {
    const readers = [...this.#current, ...this.#waiting];
    for (const reader of readers) reader.fail(cause);
  }
}
