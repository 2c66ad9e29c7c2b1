/**
 * What scripts have told of keys, against what the server says was touched: it names a key once a round of its loop, whoever touched it and how often. So
 * what a script told of in that round is explained, but not sure: another hand may have come after the script.
 */

import type { Key } from '@incumbent/core';

import type { Change } from '../protocol/changes.ts';
import type { Row } from '../namespace.ts';

export class Told {
  readonly #thisRound = new Map<Key, Change>();
  readonly #unsure = new Map<Key, Change>();

  hear(change: Change): void {
    this.#thisRound.set(change.key, change);
  }

  /** Whether a script told of this round's touch. */
  explains(key: Key, isWatched: boolean): boolean {
    const change = this.#thisRound.get(key);
    if (change !== undefined && isWatched) this.#unsure.set(key, change);
    return change !== undefined;
  }

  endRound(): void {
    this.#thisRound.clear();
  }

  /** What is watched and not sure, for each key the last that was told of it; once. */
  takeUnsure(): readonly Change[] {
    const unsure = [...this.#unsure.values()];
    this.#unsure.clear();
    return unsure;
  }

  /** The link is another: all is looked at. */
  clear(): void {
    this.#thisRound.clear();
    this.#unsure.clear();
  }
}

/** Whether a key is as it was told. */
export function isStill(change: Change, row: Row | undefined): boolean {
  if (change.kind === 'gone') return row === undefined;
  return change.kind === 'put' && row?.entry.revision === change.row.entry.revision;
}
