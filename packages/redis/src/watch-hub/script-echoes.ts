/**
 * Distinguishes changes by scripts from changes by hand. The server names every changed key once in
 * a round of its event loop, however often the key was changed and by whom. Scripts publish their
 * own changes before that. So a key that both name in one round is usually the **echo** of a
 * script's change, which needs no read. But somebody may have changed the key by hand after the
 * script, in the same round. The hub therefore reads such watched keys again later.
 */

import type { Key } from '@incumbent/core';

import type { Change } from '../protocol/changes.ts';
import type { StoredEntry } from '../protocol/entries.ts';

export class ScriptEchoes {
  readonly #thisRound = new Map<Key, Change>();
  readonly #unconfirmed = new Map<Key, Change>();

  /** A script has published a change. */
  add(change: Change): void {
    this.#thisRound.set(change.key, change);
  }

  /** Whether a script has published a change of this key in this round. */
  isEcho(key: Key, isWatched: boolean): boolean {
    const change = this.#thisRound.get(key);
    if (change !== undefined && isWatched) this.#unconfirmed.set(key, change);
    return change !== undefined;
  }

  endRound(): void {
    this.#thisRound.clear();
  }

  /** The last change of each watched key that an echo was assumed for. Returns each change once. */
  takeUnconfirmed(): readonly Change[] {
    const unconfirmed = [...this.#unconfirmed.values()];
    this.#unconfirmed.clear();
    return unconfirmed;
  }

  /** Forgets everything: after a new connection, every watch reads anyway. */
  clear(): void {
    this.#thisRound.clear();
    this.#unconfirmed.clear();
  }
}

/** Whether a key is still as a script has published it. */
export function isCurrent(change: Change, stored: StoredEntry | undefined): boolean {
  if (change.kind === 'deleted') return stored === undefined;
  return change.kind === 'put' && stored?.entry.revision === change.stored.entry.revision;
}
