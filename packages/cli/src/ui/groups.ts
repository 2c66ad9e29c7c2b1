/** The groups of the namespace. Lists their names and sizes while somebody looks. */

import type { Store } from '@incumbent/core';

import { groupSizes } from '../common/groups.ts';
import type { Board } from './board.ts';

/** The most groups that are shown. */
const MAX_GROUPS = 2_000;
const CALL = { timeoutMs: 2_500 } as const;

export class GroupList {
  readonly #store: Store;
  readonly #board: Board;
  readonly #closing = new AbortController();
  #shown: ReadonlySet<string> = new Set();
  #listing: Promise<void> | undefined;

  constructor(store: Store, board: Board) {
    this.#store = store;
    this.#board = board;
  }

  /** Lists the groups, unless that is under way. A failure leaves them as they are. */
  async list(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#listing ??= this.#list().finally(() => {
      this.#listing = undefined;
    });
    await this.#listing;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#listing;
  }

  async #list(): Promise<void> {
    // Whether the store is away shows by the listing of the elections.
    const sizes = await groupSizes(this.#store, { ...CALL, signal: this.#closing.signal }).catch(() => undefined);
    if (sizes === undefined || this.#closing.signal.aborted) return;
    const names = [...sizes.keys()].slice(0, MAX_GROUPS);
    for (const name of this.#shown) if (!sizes.has(name)) this.#board.delete(`group/${name}`);
    for (const name of names) this.#board.set(`group/${name}`, { members: sizes.get(name) ?? 0 });
    this.#shown = new Set(names);
  }
}
