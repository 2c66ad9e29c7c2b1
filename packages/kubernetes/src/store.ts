/** The store contract on a Kubernetes API server. */

import type {
  CallOptions,
  Cancel,
  Change,
  Clock,
  Entry,
  Key,
  Lease,
  LeaseId,
  LeaseOptions,
  ListOptions,
  Renewal,
  Revocation,
  Store,
  StoreCapabilities,
  StoreReport,
  SwapResult,
  WatchOptions,
} from '@incumbent/core';
import { checkChanges, checkListing, checkEntryKey, checkPath, checkTtl, partOfList, withoutValue } from '@incumbent/core/adapter';
import { checkSwapSize, checkValueSize, revocationOf, storeClosed } from '@incumbent/network';

import { capabilities } from './capabilities.ts';
import type { Client } from './client/client.ts';
import { StoreCalls } from './client/store-calls.ts';
import { deniedRight } from './errors.ts';
import { inspect } from './inspection.ts';
import type { KeyObject } from './keys/key-object.ts';
import type { Snapshot } from './keys/snapshot.ts';
import { Leases } from './leases.ts';
import { MAX_TTL_MS } from './limits.ts';
import type { Names } from './names.ts';
import type { KubernetesSettings } from './options.ts';
import { compareAndSwap, enqueue } from './transactions.ts';
import { WatchHub } from './watch-hub.ts';
import { watchEntries } from './watch.ts';

/** The API server of a store, for code that uses the store's connections. */
export interface Cluster {
  readonly client: Pick<Client, 'request'>;
  readonly clock: Clock;
  /** Of Kubernetes. */
  readonly namespace: string;
  readonly prefix: string;
  /**
   * Disposes of the dependent when the store closes, before the connections close. The returned
   * function prevents that.
   *
   * @throws `STORE_CLOSED`.
   */
  disposeOnClose(dependent: AsyncDisposable): Cancel;
}

export class KubernetesStore implements Store {
  readonly name = 'kubernetes';
  readonly namespace: string;
  readonly capabilities: StoreCapabilities = capabilities;
  readonly revocation: Revocation | undefined;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #names: Names;
  readonly #keys: KeyObject;
  readonly #calls: StoreCalls;
  readonly #leases: Leases;
  readonly #hub: WatchHub;
  /** What uses the connections of the store, and ends before they close. */
  readonly #dependents = new Set<AsyncDisposable>();
  #closing: Promise<void> | undefined;

  constructor(client: Client, keys: KeyObject, { clock, names, watchMs, shared }: KubernetesSettings) {
    this.#client = client;
    this.#clock = clock;
    this.#names = names;
    this.namespace = `${names.namespace}/${names.prefix}`;
    this.#keys = keys;
    this.#calls = new StoreCalls(clock, () => this.#closing !== undefined);
    const isWatched = (lease: LeaseId): boolean => this.#hub.shows(lease);
    this.#leases = new Leases({ client, clock, names, keys: this.#keys, watchMs, isWatched });
    const onLease = (lease: LeaseId): void => this.#leases.observe(lease);
    this.#hub = new WatchHub({ client, clock, names, keys: this.#keys, watchMs, onLease });
    this.revocation = revocationOf(import.meta.url, shared, { ticketOf: this.#leases.ticketOf.bind(this.#leases) });
  }

  async grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    const call = this.#calls.check(options);
    checkTtl(ttlMs, MAX_TTL_MS);
    return this.#calls.run('grantLease', (time) => this.#leases.grant(ttlMs, options, time), call);
  }

  async renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    const call = this.#calls.check(options);
    return this.#calls.run('renewLease', (time) => this.#leases.renew(lease, options, time), call);
  }

  async revokeLease(lease: LeaseId, options: CallOptions = {}): Promise<void> {
    const call = this.#calls.check(options);
    return this.#calls.run('revokeLease', (time) => this.#leases.revoke(lease, time), call);
  }

  async compareAndSwap(changes: readonly Change[], options: CallOptions = {}): Promise<SwapResult> {
    const call = this.#calls.check(options);
    checkChanges(changes);
    checkSwapSize(this, changes);
    return this.#calls.run('compareAndSwap', (time) => compareAndSwap(this.#keys, this.#leases, changes, time), call);
  }

  async enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options: CallOptions = {}): Promise<Entry> {
    const call = this.#calls.check(options);
    const key = checkEntryKey(prefix, name);
    checkValueSize(this, value, key);
    // Copied, because the caller may change its bytes.
    const entry = { key, value: new Uint8Array(value), lease };
    return this.#calls.run('enqueue', (time) => enqueue(this.#keys, this.#leases, entry, time), call);
  }

  async read(key: Key, options: CallOptions = {}): Promise<Entry | undefined> {
    const call = this.#calls.check(options);
    checkPath('key', key);
    const snapshot = await this.#calls.run('read', (time) => this.#keys.read(time.left), call);
    const entry = snapshot.entry(key);
    this.#leases.noteMet(entry?.lease === undefined ? [] : [entry.lease]);
    return entry;
  }

  async list(prefix: Key, options: ListOptions = {}): Promise<readonly Entry[]> {
    const call = this.#calls.check(options);
    checkListing(options);
    checkPath('prefix', prefix);
    const { values = true, before } = options;
    const snapshot = await this.#calls.run('list', (time) => this.#keys.read(time.left), call);
    const entries = snapshot.under(prefix);
    const some = partOfList(before === undefined ? entries : entries.filter(({ order }) => order < before.order), options);
    this.#leases.noteMet(some.flatMap(({ lease }) => lease ?? []));
    return values ? some : some.map(withoutValue);
  }

  watch(key: Key, options: WatchOptions = {}): AsyncIterable<Entry | undefined> {
    checkPath('key', key);
    const entries = (snapshot: Snapshot): readonly Entry[] => {
      const entry = snapshot.entry(key);
      return entry === undefined ? [] : [entry];
    };
    return watchEntries(this.#hub, { entries, state: ([entry]) => entry, missing: deniedRight }, options);
  }

  watchList(prefix: Key, options: WatchOptions = {}): AsyncIterable<readonly Entry[]> {
    checkPath('prefix', prefix);
    const entries = (snapshot: Snapshot): readonly Entry[] => snapshot.under(prefix);
    return watchEntries(this.#hub, { entries, state: (all) => all, missing: deniedRight }, options);
  }

  /**
   * The version of the API server, the user's rights, the size of the object with the keys, and
   * leases that nobody renews. The API server reports no clock.
   */
  async inspect(options: CallOptions = {}): Promise<StoreReport> {
    const call = this.#calls.check(options);
    const [client, clock, names, keys] = [this.#client, this.#clock, this.#names, this.#keys];
    return this.#calls.run('inspect', (time) => inspect({ client, clock, names, keys }, time), call);
  }

  /** @internal For code that uses the connections of the store. */
  get cluster(): Cluster {
    return {
      client: this.#client,
      clock: this.#clock,
      namespace: this.#names.namespace,
      prefix: this.#names.prefix,
      disposeOnClose: (dependent) => {
        if (this.#closing !== undefined) throw storeClosed('kubernetes');
        this.#dependents.add(dependent);
        return () => void this.#dependents.delete(dependent);
      },
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#dependents].map((dependent) => dependent[Symbol.asyncDispose]()));
    this.#hub.close();
    await this.#leases.close();
    await this.#client.close();
  }
}
