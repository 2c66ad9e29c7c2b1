/**
 * The state of `incumbent ui`: watches the store once, and writes what the page shows to the board,
 * for any number of viewers. Reads only, except for the checks of the store with `operate`.
 */

import { randomBytes } from 'node:crypto';

import type { Cancel, Clock, Random, Store } from '@incumbent/core';
import { systemClock } from '@incumbent/core/adapter';

import { errorFields } from '../common/output.ts';
import { Board } from './board.ts';
import type { DocumentKey, StoreDocument } from './documents.ts';
import { WatchedElections } from './elections.ts';
import { GroupList } from './groups.ts';
import { StoreHealth } from './health.ts';
import { OpenedDocuments } from './opened.ts';

export interface UiModelOptions {
  /** The URL of the store, without credentials. */
  readonly url: string;
  readonly version: string;
  /** Whether viewers may end and hand over leaderships. */
  readonly operate: boolean;
  readonly clock?: Clock;
  readonly random?: Random;
}

export class UiModel implements AsyncDisposable {
  readonly board: Board = new Board(randomBytes(6).toString('hex'));
  readonly clock: Clock;
  readonly health: StoreHealth;
  readonly #elections: WatchedElections;
  readonly #groups: GroupList;
  readonly #opened: OpenedDocuments;
  #store: StoreDocument;
  #viewers = 0;

  /** Begins to watch. */
  constructor(store: Store, { url, version, operate, clock = systemClock, random }: UiModelOptions) {
    this.clock = clock;
    const { board } = this;
    const common = { store, board, clock, ...(random === undefined ? {} : { random }) };
    this.#store = { name: store.name, url, version, operate, startedAt: clock.wall(), listed: false, hidden: 0 };
    board.set('store', this.#store);
    this.health = new StoreHealth({ store, board, clock, writes: operate });
    this.#groups = new GroupList(store, board);
    this.#elections = new WatchedElections({
      ...common,
      listed: (result) => {
        this.#show('error' in result ? this.#failed(result.error) : { listed: true, hidden: result.hidden, away: undefined });
        if (this.#viewers > 0 && !('error' in result)) void this.#groups.list();
      },
    });
    this.#opened = new OpenedDocuments({ ...common, elections: this.#elections });
    this.#elections.start();
  }

  get viewers(): number {
    return this.#viewers;
  }

  /**
   * Counts a viewer, and watches what it has opened, until the returned function is called: a queue
   * (`queue/NAME`) or the members of a group (`members/NAME`).
   */
  join(opened?: DocumentKey): Cancel {
    const leave = [this.health.join(), ...(opened === undefined ? [] : [this.#opened.open(opened)])];
    this.#viewers += 1;
    void this.#groups.list();
    let isThere = true;
    return () => {
      if (!isThere) return;
      isThere = false;
      this.#viewers -= 1;
      for (const each of leave) each();
    };
  }

  /** Ends all watches. The store stays open. */
  async close(): Promise<void> {
    this.#opened.close();
    await Promise.all([this.#elections.close(), this.#groups.close(), this.health.close()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #failed(error: unknown): Partial<StoreDocument> {
    return { away: { ...errorFields(error), since: this.#store.away?.since ?? this.clock.wall() } };
  }

  #show(news: Partial<Omit<StoreDocument, 'away'>> & { readonly away?: StoreDocument['away'] | undefined }): void {
    const { away, ...rest } = { ...this.#store, ...news };
    this.#store = { ...rest, ...(away === undefined ? {} : { away }) };
    this.board.set('store', this.#store);
  }
}
