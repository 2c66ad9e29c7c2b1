/** The store contract on Redis. Each method is in the file that has the name of its job. */

import type * as api from '@incumbent/core';
import { checkPath } from '@incumbent/core/adapter';
import { revocationOf } from '@incumbent/network';

import { CAPABILITIES } from './capabilities.ts';
import type { Client } from './client/client.ts';
import { StoreCalls } from './client/store-calls.ts';
import { inspect } from './inspection.ts';
import { grantLease, renewLease, revokeLease } from './leases.ts';
import type { Keyspace } from './namespace.ts';
import type { Reply } from './protocol/resp.ts';
import { enqueue } from './queue.ts';
import { Reads } from './reads.ts';
import { compareAndSwap } from './transactions.ts';
import { WatchHub } from './watch-hub/watch-hub.ts';
import { KeyWatchState, ListWatchState } from './watch-state.ts';
import { watchState } from './watch.ts';

export interface StoreParts {
  readonly client: Client;
  readonly clock: api.Clock;
  readonly keyspace: Keyspace;
  /**
   * The options, for the reaper's process to open the store by. Undefined if another process cannot
   * have them.
   */
  readonly access: string | undefined;
}

export class RedisStore implements api.Store {
  readonly name = 'redis';
  readonly namespace: string;
  readonly capabilities: api.StoreCapabilities = CAPABILITIES;
  readonly revocation: api.Revocation | undefined;
  readonly #client: Client;
  readonly #clock: api.Clock;
  readonly #calls: StoreCalls;
  readonly #reads: Reads;
  readonly #hub: WatchHub;

  constructor({ client, clock, keyspace, access }: StoreParts) {
    this.#client = client;
    this.#clock = clock;
    this.namespace = keyspace.namespace;
    this.#calls = new StoreCalls(client, keyspace);
    this.#reads = new Reads(this.#calls, clock);
    this.#hub = new WatchHub(client, clock, keyspace);
    this.revocation = revocationOf(import.meta.url, access, { renews: true });
  }

  /** A message of the server that answers no request. */
  onPush(reply: Reply): void {
    this.#hub.onPush(reply);
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    return grantLease(this.#calls, ttlMs, options);
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    const sentMs = this.#clock.monotonic();
    const renewal = await renewLease(this.#calls, lease, options);
    this.#hub.onRenewed(lease, sentMs + renewal.ttlMs);
    return renewal;
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    return revokeLease(this.#calls, lease, options);
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    return compareAndSwap(this.#calls, changes, options);
  }

  async enqueue(
    prefix: api.Key,
    name: string,
    value: Uint8Array,
    lease: api.LeaseId,
    options: api.EnqueueOptions = {},
  ): Promise<api.Entry> {
    return enqueue(this.#calls, { prefix, name, value, lease }, options);
  }

  async read(key: api.Key, options: api.CallOptions = {}): Promise<api.Entry | undefined> {
    return this.#reads.read(key, options);
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    return this.#reads.list(prefix, options);
  }

  watch(key: api.Key, options: api.WatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    checkPath('key', key);
    return watchState(this.#hub, () => new KeyWatchState(key), options);
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    checkPath('prefix', prefix);
    return watchState(this.#hub, () => new ListWatchState(prefix), options);
  }

  async inspect(options: api.CallOptions = {}): Promise<api.StoreReport> {
    const call = this.#calls.check(options);
    const report = (): Promise<api.StoreReport> => this.#client.call((connection) => inspect(connection, () => this.#clock.wall()), call);
    return this.#calls.call('inspect', report, call);
  }

  /** Ends all calls, watches and sockets at once, and waits for nothing. Idempotent. */
  async close(): Promise<void> {
    this.#hub.close();
    this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
