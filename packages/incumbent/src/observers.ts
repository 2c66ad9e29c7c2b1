/** The observers of this package: those of `@incumbent/core`, which warn without a logger. */

import {
  ElectionObserver as CoreElectionObserver,
  type Key,
  type ObserverOptions,
  type Store,
  StoredValueObserver as CoreStoredValueObserver,
  type StoredValueObserverOptions,
} from '@incumbent/core';
import { warningLogger } from './warnings.ts';

/**
 * The `ElectionObserver` of `@incumbent/core`. Without a logger, Node warns once per process and
 * election of a subscriber that throws (`INCUMBENT_CALLBACK_FAILED`).
 */
export class ElectionObserver<V = unknown> extends CoreElectionObserver<V> {
  /** Does no I/O yet. Throws as the constructor of `@incumbent/core` does. */
  constructor(store: Store, name: string, options: ObserverOptions<V> = {}) {
    super(store, name, withLogger(options));
  }
}

/**
 * The `StoredValueObserver` of `@incumbent/core`. Without a logger, Node warns once per process and
 * key of a subscriber that throws (`INCUMBENT_CALLBACK_FAILED`).
 */
export class StoredValueObserver<T = unknown> extends CoreStoredValueObserver<T> {
  /** Does no I/O yet. Throws as the constructor of `@incumbent/core` does. */
  constructor(store: Store, key: Key, options: StoredValueObserverOptions<T> = {}) {
    super(store, key, withLogger(options));
  }
}

function withLogger<O extends Pick<ObserverOptions, 'logger'>>(options: O): O {
  // Core rejects options that are not an object.
  if (typeof options !== 'object' || options === null) return options;
  return options.logger === undefined ? { ...options, logger: warningLogger } : options;
}
