/** The store: the methods of the contract, each in the file that bears its job's name. */

import type * as api from '@incumbent/core';
import { revocationOf } from '@incumbent/network';

import { capabilitiesOf } from './capabilities.ts';
import type { StoreCalls } from './client/store-calls.ts';
import { guardStatement, type SqlGuard } from './guard-statement.ts';
import { inspect } from './inspection.ts';
import { grantLease, renewLease, revokeLease } from './leases.ts';
import { enqueue } from './queue.ts';
import { Reads } from './reads.ts';
import { compareAndSwap } from './transactions.ts';
import { WatchHub } from './watch-hub/watch-hub.ts';
import { watchQuery } from './watch.ts';

export interface StoreParts {
  readonly calls: StoreCalls;
  readonly clock: api.Clock;
  /** The channel of the namespace's notifications. */
  readonly channel: string;
  /** How the server may lose a commit that it has acknowledged. Empty if it cannot. */
  readonly weaknesses: readonly string[];
  /**
   * The options, for the reaper's process to open the store by. Undefined if another process cannot
   * have them.
   */
  readonly access: string | undefined;
}

export class PostgresStore implements api.Store {
  readonly name = 'postgres';
  readonly namespace: string;
  readonly capabilities: api.StoreCapabilities;
  readonly revocation: api.Revocation | undefined;
  readonly #clock: api.Clock;
  readonly #calls: StoreCalls;
  readonly #reads: Reads;
  readonly #hub: WatchHub;

  constructor({ calls, clock, channel, weaknesses, access }: StoreParts) {
    this.namespace = calls.location.namespace;
    this.#clock = clock;
    this.#calls = calls;
    this.#reads = new Reads(calls, clock);
    this.#hub = new WatchHub({ clock, channel, location: calls.location, reads: this.#reads });
    this.capabilities = capabilitiesOf(weaknesses);
    this.revocation = revocationOf(import.meta.url, access, { renews: true });
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    return grantLease(this.#calls, ttlMs, options);
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    return renewLease(this.#calls, lease, options);
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    return revokeLease(this.#calls, lease, options);
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    return compareAndSwap(this.#calls, changes, options);
  }

  async enqueue(prefix: api.Key, name: string, value: Uint8Array, lease: api.LeaseId, options: api.CallOptions = {}): Promise<api.Entry> {
    return enqueue(this.#calls, { prefix, name, value, lease }, options);
  }

  async read(key: api.Key, options: api.CallOptions = {}): Promise<api.Entry | undefined> {
    return this.#reads.read(key, options);
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    return this.#reads.list(prefix, options);
  }

  watch(key: api.Key, options: api.WatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    return watchQuery(this.#hub, { key: this.#calls.checkKey('key', key) }, ([entry]) => entry, options);
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    return watchQuery(this.#hub, { prefix: this.#calls.checkKey('prefix', prefix) }, (entries) => entries, options);
  }

  /** @internal For {@link sqlGuard}. */
  guardStatement(guard: api.Change): SqlGuard {
    return guardStatement(this.#calls.location, guard);
  }

  async inspect(options: api.CallOptions = {}): Promise<api.StoreReport> {
    const call = this.#calls.check(options);
    return this.#calls.call(
      'inspect',
      () => inspect(this.#calls.client, this.#calls.location.schema, call, () => this.#clock.wall()),
      call,
    );
  }

  /** Ends all calls, watches and sockets at once. Idempotent. */
  async close(): Promise<void> {
    this.#hub.close();
    await this.#calls.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
