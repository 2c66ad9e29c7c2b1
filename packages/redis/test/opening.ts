/** Servers and stores for the integration tests. */

import type { Store } from '@incumbent/core';
import { startRedis, uniqueNamespace, type RedisServer } from '@incumbent/test-support';
import { openingFailure } from '@incumbent/test-support/wrong-server';
import { afterAll, beforeAll, beforeEach } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';

const CONNECT_MS = 2_000;
export const CALL = { timeoutMs: 5_000 };
export const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };
export const ONE: Uint8Array = new Uint8Array([1]);

/** How opening fails, and that it does so in time. */
export function failureOf(options: RedisOptions): Promise<unknown> {
  return openingFailure(() => openRedis({ connectTimeoutMs: CONNECT_MS, ...options }), CONNECT_MS);
}

export const at = ({ url }: RedisServer): readonly string[] => [new URL(url).host];

export const put = (store: Store, key: string, value: Uint8Array = ONE): Promise<unknown> =>
  store.compareAndSwap([{ key, expect: null, put: value }], CALL);

/**
 * One server for all tests of a file or a `describe`, and a store on a fresh namespace for each
 * test.
 */
export class StoreFixture {
  #server: RedisServer | undefined;
  #store: Store | undefined;
  namespace = '';

  constructor(options?: Parameters<typeof startRedis>[0]) {
    beforeAll(async () => {
      this.#server = await startRedis(options);
    });
    afterAll(() => this.#server?.stop());
    beforeEach(async () => {
      this.namespace = uniqueNamespace();
      const store = await this.open();
      this.#store = store;
      return () => store.close();
    });
  }

  get server(): RedisServer {
    if (this.#server === undefined) throw new Error('the server has not started');
    return this.#server;
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('the store is not open');
    return this.#store;
  }

  /** Another store on the same namespace. */
  open(options: Partial<RedisOptions> = {}): Promise<Store> {
    return openRedis({ endpoints: at(this.server), namespace: this.namespace, ...options });
  }
}

/** Collects the states of a watch until `stop` is called. */
export function follow<T>(states: (options: { readonly signal: AbortSignal }) => AsyncIterable<T>): {
  readonly seen: T[];
  readonly stop: () => Promise<void>;
} {
  const [seen, abort]: [T[], AbortController] = [[], new AbortController()];
  const done = (async () => {
    for await (const state of states({ signal: abort.signal })) seen.push(state);
  })();
  // A test that fails does not call `stop`, and its store then closes.
  done.catch(() => {});
  const stop = (): Promise<void> => {
    abort.abort();
    return done;
  };
  return { seen, stop };
}
