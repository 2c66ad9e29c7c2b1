/** The watches of the contract: one key, or the keys below a prefix. */

import type { Cancel, Entry, Key, WatchOptions } from '@incumbent/core';
import { checkPath, watchStates } from '@incumbent/core/adapter';

import type { ChangePoller } from './change-poller.ts';
import type { Namespace } from './namespace.ts';
import type { Row } from './schema/tables.ts';
import type { WatchHub } from './watch-hub.ts';
import type { Watch } from './watch-state.ts';

/** All watches of a store. They share the two functions that turn rows into entries. */
export class Watches {
  readonly #hub: WatchHub;
  readonly #poller: ChangePoller;
  readonly #namespace: Namespace;
  readonly #entryOf = ([row]: readonly Row[]): Entry | undefined => row && this.#namespace.entry(row);
  readonly #entriesOf = (rows: readonly Row[]): readonly Entry[] => rows.map((row) => this.#namespace.entry(row));

  constructor(hub: WatchHub, poller: ChangePoller, namespace: Namespace) {
    this.#hub = hub;
    this.#poller = poller;
    this.#namespace = namespace;
  }

  key(key: Key, options: WatchOptions): AsyncIterable<Entry | undefined> {
    const stored = this.#namespace.key(checkPath('key', key));
    return watchStates((watch: Watch) => this.#begun(this.#hub.watchKey(stored, watch)), this.#entryOf, options);
  }

  list(prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]> {
    const stored = this.#namespace.key(checkPath('prefix', prefix));
    return watchStates((watch: Watch) => this.#begun(this.#hub.watchList(stored, watch)), this.#entriesOf, options);
  }

  /** Ends all watches, and refuses new ones. */
  close(): void {
    this.#poller.stop();
    this.#hub.close();
  }

  /** Reads the first state at once. */
  #begun(cancel: Cancel): Cancel {
    this.#poller.pollNow();
    return cancel;
  }
}
