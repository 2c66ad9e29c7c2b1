/** The watches of the contract: one key, or the keys below a prefix. */

import type { Cancel, Entry, Key, WatchOptions } from '@incumbent/core';
import { checkPath, watchStates } from '@incumbent/core/adapter';

import type { ChangePoller } from './change-poller.ts';
import type { Namespace } from './namespace.ts';
import type { WatchHub } from './watch-hub.ts';
import type { Watch } from './watch-state.ts';

export interface WatchContext {
  readonly hub: WatchHub;
  readonly poller: ChangePoller;
  readonly namespace: Namespace;
}

export function watchKey({ hub, poller, namespace }: WatchContext, key: Key, options: WatchOptions): AsyncIterable<Entry | undefined> {
  const stored = namespace.key(checkPath('key', key));
  return watchStates(
    (watch: Watch) => begin(poller, hub.watchKey(stored, watch)),
    ([row]) => row && namespace.entry(row),
    options,
  );
}

export function watchList({ hub, poller, namespace }: WatchContext, prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]> {
  const stored = namespace.key(checkPath('prefix', prefix));
  return watchStates(
    (watch: Watch) => begin(poller, hub.watchList(stored, watch)),
    (rows) => rows.map((row) => namespace.entry(row)),
    options,
  );
}

/** Reads the first state at once. */
function begin(poller: ChangePoller, cancel: Cancel): Cancel {
  poller.pollNow();
  return cancel;
}
