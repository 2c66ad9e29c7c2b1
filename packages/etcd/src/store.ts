/** The store contract on etcd. */

import type * as api from '@incumbent/core';
import {
  checkCall,
  checkChanges,
  checkEntryKey,
  checkListing,
  checkLook,
  checkPath,
  checkTtl,
  withoutValue,
} from '@incumbent/core/adapter';
import { checkSwapSize, checkValueSize, namingGrant, revocationOf } from '@incumbent/network';

import { capabilitiesOf, MAX_TTL_MS } from './capabilities.ts';
import type { Client } from './client/client.ts';
import { missingRight } from './errors.ts';
import { grantLease, renewLease, revokeLease } from './leases.ts';
import { Namespace } from './namespace.ts';
import type { EtcdSettings } from './options.ts';
import { status } from './protocol/admin.ts';
import type { RangeRequest, RangeAnswer } from './protocol/kv.ts';
import { enqueue } from './queue.ts';
import { Reads } from './reads.ts';
import { compareAndSwap } from './transactions.ts';
import { watch } from './watch.ts';
import { WatchHub } from './watch-hub.ts';
import { KeyWatchState, ListWatchState } from './watch-state.ts';
import { WriteBatcher } from './write-batcher.ts';

export class EtcdStore implements api.Store {
  readonly name = 'etcd';
  readonly namespace: string;
  readonly capabilities: api.StoreCapabilities;
  readonly revocation: api.Revocation | undefined;
  readonly #client: Client;
  readonly #namespace: Namespace;
  readonly #reads: Reads;
  readonly #writes: WriteBatcher;
  readonly #hub: WatchHub;

  constructor(client: Client, { namespace, access }: EtcdSettings, version: string) {
    this.#client = client;
    this.#namespace = new Namespace(namespace);
    this.namespace = namespace;
    this.#reads = new Reads(client);
    this.#writes = new WriteBatcher(client);
    this.#hub = new WatchHub(client);
    this.capabilities = capabilitiesOf(version);
    this.revocation = revocationOf(import.meta.url, access, { renews: true });
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    checkTtl(ttlMs, MAX_TTL_MS);
    return grantLease(this.#client, ttlMs, checkCall(options));
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    return renewLease(this.#client, lease, checkCall(options));
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    // etcd checks the permission for the keys that are bound to the lease.
    return this.#namingGrant(revokeLease(this.#client, lease, checkCall(options)), 'readwrite', () => [this.#namespace.prefix]);
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    checkChanges(changes);
    checkSwapSize(this, changes);
    const swap = compareAndSwap(this.#writes, this.#namespace, changes, checkCall(options));
    return this.#namingGrant(swap, 'readwrite', () => changes.map(({ key }) => this.#namespace.key(key)));
  }

  async enqueue(
    prefix: api.Key,
    name: string,
    value: Uint8Array,
    lease: api.LeaseId,
    options: api.EnqueueOptions = {},
  ): Promise<api.Entry> {
    const key = checkEntryKey(prefix, name);
    checkValueSize(this, value, key);
    checkLook(options.look);
    const entry = enqueue(this.#writes, this.#namespace, { prefix, key, value, lease }, checkCall(options));
    const keys = options.look === undefined ? [key] : [key, options.look.key];
    return this.#namingGrant(entry, 'readwrite', () => keys.map((each) => this.#namespace.key(each)));
  }

  async read(key: api.Key, options: api.CallOptions = {}): Promise<api.Entry | undefined> {
    const [kv] = (await this.#range({ key: this.#namespace.key(checkPath('key', key)) }, options)).kvs;
    return kv === undefined ? undefined : this.#namespace.entry(kv);
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    const answer = await this.#range(this.#listRequest(prefix, options), options);
    const all = answer.kvs.map((kv) => this.#namespace.entry(kv));
    const entries = options.values === false ? all.map(withoutValue) : all;
    return options.last === undefined ? entries : entries.toReversed();
  }

  watch(key: api.Key, options: api.KeyWatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    checkPath('key', key);
    return watch(this.#hub, () => new KeyWatchState(this.#namespace, key, options.since), options);
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    checkPath('prefix', prefix);
    return watch(this.#hub, () => new ListWatchState(this.#namespace, prefix), options);
  }

  /** Reports the version of the member that answers. etcd does not report its clock. */
  async inspect(options: api.CallOptions = {}): Promise<api.StoreReport> {
    return { version: await this.#client.call(status, undefined, checkCall(options)), warnings: [] };
  }

  /** Waits only until the sockets of this process are closed, not for a server. */
  close(): Promise<void> {
    const closed = this.#client.close();
    this.#hub.close();
    return closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #range(request: RangeRequest, options: api.CallOptions): Promise<RangeAnswer> {
    return this.#namingGrant(this.#reads.range(request, checkCall(options)), 'read', () => [request.key]);
  }

  /** If the server denies the call, the error names the right that the user lacks on these keys. */
  #namingGrant<T>(call: Promise<T>, right: 'read' | 'readwrite', keys: () => readonly string[]): Promise<T> {
    return namingGrant(call, () => missingRight(right, keys(), this.#namespace));
  }

  /** To get the last entries, etcd sorts the newest first and the limit cuts the rest off. */
  #listRequest(prefix: api.Key, { values, before, first, last }: api.ListOptions): RangeRequest {
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
