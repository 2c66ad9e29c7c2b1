/** The contract, on etcd. */

import type {
  CallOptions,
  Change,
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
import { checkChanges, checkListing, checkPath, invalidOption, withoutValue } from '@incumbent/core/adapter';
import { revocationOf } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { Namespace } from './namespace.ts';
import { expiresWithinMs, grantLease, MAX_TTL_MS, MIN_TTL_MS, renewLease, revokeLease } from './leases.ts';
import { KeyMirror, ListMirror } from './watch-state.ts';
import type { EtcdSettings } from './options.ts';
import { Reads } from './reads.ts';
import { compareAndSwap, enqueue, MAX_CHANGES, MAX_VALUE_BYTES } from './transactions.ts';
import { endsEarly } from './capabilities.ts';
import { watchMirror } from './watch.ts';
import { WatchHub } from './watch-hub.ts';
import { status } from './protocol/admin.ts';
import type { RangeRequest } from './protocol/kv.ts';

/** etcd lists the keys of a lease in memory only, and deletes them in one transaction when it ends. */
const MAX_KEYS_PER_LEASE = 10_000;

export class EtcdStore implements Store {
  readonly name = 'etcd';
  readonly capabilities: StoreCapabilities;
  readonly revocation: Revocation | undefined;
  readonly #client: Client;
  readonly #namespace: Namespace;
  readonly #reads: Reads;
  readonly #hub: WatchHub;

  constructor(client: Client, { namespace, access }: EtcdSettings, version: string) {
    this.#client = client;
    this.#namespace = new Namespace(namespace);
    this.#reads = new Reads(client);
    this.#hub = new WatchHub(client);
    this.capabilities = capabilitiesOf(version);
    this.revocation = revocationOf(import.meta.url, access, (lease) => lease);
  }

  async grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    if (!(ttlMs > 0 && ttlMs <= MAX_TTL_MS)) throw invalidOption('ttlMs', ttlMs, `above 0, and at most ${MAX_TTL_MS}`);
    return grantLease(this.#client, ttlMs, options);
  }

  renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    return renewLease(this.#client, lease, options);
  }

  revokeLease(lease: LeaseId, options: CallOptions): Promise<void> {
    return revokeLease(this.#client, lease, options);
  }

  async compareAndSwap(changes: readonly Change[], options: CallOptions): Promise<SwapResult> {
    checkChanges(changes);
    return compareAndSwap(this.#client, this.#namespace, changes, options);
  }

  async enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options: CallOptions): Promise<Entry> {
    const key = checkPath('key', `${prefix}/${name}`);
    return enqueue(this.#client, this.#namespace, { key, value, lease }, options);
  }

  async read(key: Key, options: CallOptions): Promise<Entry | undefined> {
    const [kv] = (await this.#reads.range({ key: this.#namespace.key(checkPath('key', key)) }, options)).kvs;
    return kv === undefined ? undefined : this.#namespace.entry(kv);
  }

  async list(prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
    const answer = await this.#reads.range(this.#listRequest(prefix, options), options);
    const all = answer.kvs.map((kv) => this.#namespace.entry(kv));
    const entries = options.values === false ? all.map(withoutValue) : all;
    return options.last === undefined ? entries : entries.toReversed();
  }

  watch(key: Key, options: WatchOptions): AsyncIterable<Entry | undefined> {
    checkPath('key', key);
    return watchMirror(this.#hub, () => new KeyMirror(this.#namespace, key), options);
  }

  watchList(prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]> {
    checkPath('prefix', prefix);
    return watchMirror(this.#hub, () => new ListMirror(this.#namespace, prefix), options);
  }

  /** Of the member that answers; it tells no clock. */
  async inspect(options: CallOptions): Promise<StoreReport> {
    return { version: await this.#client.call(status, undefined, options), warnings: [] };
  }

  /** Takes as long as it takes to end the sockets of this process: nothing waits for a server. */
  close(): Promise<void> {
    const closed = this.#client.close();
    this.#hub.close();
    return closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // The last ones are the first that are found when the newest come first.
  #listRequest(prefix: Key, { values, before, first, last }: ListOptions): RangeRequest {
    checkListing({ first, last });
    const limit = first ?? last;
    return {
      ...this.#namespace.under(checkPath('prefix', prefix)),
      byCreation: last === undefined ? 'ascending' : 'descending',
      ...(limit === undefined ? {} : { limit }),
      ...(values === false ? { keysOnly: true } : {}),
      ...(before === undefined ? {} : { maxCreateRevision: before.order - 1n }),
    };
  }
}

/**
 * A call that times out leaves its member at once. The next call connects to another one, with TLS if
 * need be, and a renewal there waits for the answer of the cluster's leader.
 */
const RECONNECTS_WITHIN_MS = 100;

function capabilitiesOf(version: string): StoreCapabilities {
  return {
    linearizable: true,
    // The term key's value is counted up by the swap that compares its revision.
    termSource: 'counter',
    minTtlMs: MIN_TTL_MS,
    maxTtlMs: MAX_TTL_MS,
    expiresWithinMs,
    reconnectsWithinMs: RECONNECTS_WITHIN_MS,
    assignableLease: true,
    watchTellsValues: true,
    // Every change of any key takes the next number of the whole store.
    revisionsSurviveDeletion: true,
    endsEarly: endsEarly(version),
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: MAX_KEYS_PER_LEASE,
  };
}
