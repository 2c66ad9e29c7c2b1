/** One watch: shows its part of a state when that part has changed. */

import type { Entry, StoreError, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { type MissingPermission, withGrant } from '@incumbent/network';

import type { Snapshot } from './keys/snapshot.ts';
import type { Subscriber, WatchHub } from './watch-hub.ts';

/** What to watch, and how the watch presents it. */
export interface Watched<T> {
  entries(snapshot: Snapshot): readonly Entry[];
  state(entries: readonly Entry[]): T;
  /** What the user lacks if the server denies the watch. */
  missing(error: unknown): MissingPermission;
}

export function watchEntries<T>(hub: WatchHub, watched: Watched<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates((controller) => hub.subscribe(new WatchSubscriber(watched, controller)), watched.state, options);
}

class WatchSubscriber implements Subscriber {
  readonly #watched: Pick<Watched<unknown>, 'entries' | 'missing'>;
  readonly #controller: WatchController<readonly Entry[]>;
  /**
   * The keys and revisions that were shown last. Undefined if nothing was since the watch became
   * stale.
   */
  #shown: string | undefined;

  constructor(watched: Pick<Watched<unknown>, 'entries' | 'missing'>, controller: WatchController<readonly Entry[]>) {
    this.#watched = watched;
    this.#controller = controller;
  }

  entries(snapshot: Snapshot): readonly Entry[] {
    return this.#watched.entries(snapshot);
  }

  onState(entries: readonly Entry[]): void {
    const shown = entries.map(({ key, revision }) => `${key} ${revision}`).join('\n');
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#controller.show(entries);
  }

  onStale(cause: StoreError): void {
    this.#shown = undefined;
    this.#controller.lose(cause);
  }

  onFailed(error: unknown): void {
    this.#controller.fail(withGrant(error, () => this.#watched.missing(error)));
  }
}
