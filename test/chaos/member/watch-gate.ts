/**
 * A store whose watches can be silenced: they report nothing and do not become stale, while all
 * other calls succeed. On most stores a watch shares the connection of the calls, so no proxy can
 * delay one without the other.
 */

import type { Store } from 'incumbent';
import type { WatchOptions } from '@incumbent/core';

/** The options of a member's watches, which all have a signal. */
type Watched = WatchOptions & { readonly signal: AbortSignal };

export class WatchGate {
  #opened: PromiseWithResolvers<void> | undefined;

  close(): void {
    this.#opened ??= Promise.withResolvers<void>();
  }

  /** What a watch held back is delivered now, unless the watch has become stale meanwhile. */
  open(): void {
    this.#opened?.resolve();
    this.#opened = undefined;
  }

  /** The same store, with its watches behind this gate. */
  guard(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'watch') return (key: string, options: Watched) => this.#behind(options, (own) => target.watch(key, own));
        if (name === 'watchList')
          return (prefix: string, options: Watched) => this.#behind(options, (own) => target.watchList(prefix, own));
        const value: unknown = Reflect.get(target, name, target);
        // Stores have private fields, so their methods need the store itself as `this`.
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  async *#behind<T, O extends Watched>(options: O, watch: (options: O) => AsyncIterable<T>): AsyncIterable<T> {
    const { signal, onStale } = options;
    let stale = 0;
    const own = {
      ...options,
      onStale: (...[cause]: Parameters<NonNullable<WatchOptions['onStale']>>) => {
        stale += 1;
        onStale?.(cause);
      },
    };
    for await (const state of watch(own)) {
      const before = stale;
      await this.#passage(signal);
      if (signal.aborted) return;
      if (stale === before) yield state;
    }
  }

  /** Resolves when the gate is open, or when the waiting watch was aborted. */
  async #passage(signal: AbortSignal): Promise<void> {
    while (this.#opened !== undefined && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const pass = (): void => resolve();
      signal.addEventListener('abort', pass);
      void this.#opened.promise.then(pass);
      await promise;
      signal.removeEventListener('abort', pass);
    }
  }
}
