/** The store contract on ZooKeeper. */

import type * as api from '@incumbent/core';
import { checkCall, checkChanges, checkDuration, checkEntryKey, checkListing, checkPath } from '@incumbent/core/adapter';
import {
  CallTime,
  checkSwapSize,
  checkValueSize,
  type MissingPermission,
  namingGrant,
  revocationOf,
  storeClosed,
} from '@incumbent/network';

import { capabilitiesOf, type SessionLimits } from './capabilities.ts';
import { ParentNodes } from './client/calls.ts';
import type { Client } from './client/client.ts';
import {
  closedError,
  ExchangeError,
  grantOfUnknownOutcome,
  isGivenUp,
  missingOn,
  noSuchLease,
  notOfOneLease,
  type Right,
} from './errors.ts';
import { Leases } from './leases.ts';
import type { Namespace } from './namespace.ts';
import type { Auth } from './protocol/hello.ts';
import type { Acl } from './protocol/nodes.ts';
import { Queue } from './queue.ts';
import { list, Reads } from './reads.ts';
import { compareAndSwap, leaseOf, type WriteContext } from './transactions.ts';
import { KeyTarget, listTarget, type WatchContext, WatchSet } from './watch.ts';

export interface StoreParts extends SessionLimits {
  readonly clock: api.Clock;
  readonly acls: readonly Acl[];
  readonly auths: readonly Auth[];
  /** The options with which another process opens the store; undefined if it cannot. */
  readonly access: string | undefined;
}

export class ZookeeperStore implements api.Store {
  readonly name = 'zookeeper';
  readonly namespace: string;
  readonly capabilities: api.StoreCapabilities;
  readonly revocation: api.Revocation | undefined;
  readonly #client: Client;
  readonly #clock: api.Clock;
  readonly #namespace: Namespace;
  readonly #leases: Leases;
  readonly #reads: Reads;
  readonly #writes: WriteContext;
  readonly #queue: Queue;
  readonly #watchContext: WatchContext;
  readonly #watches: WatchSet;
  #closed = false;

  constructor(client: Client, parts: StoreParts) {
    const { clock, namespace, acls, auths, access } = parts;
    const { root } = namespace;
    const { shared } = client;
    this.#client = client;
    this.#clock = clock;
    this.#namespace = namespace;
    this.namespace = root.slice(1);
    this.#leases = new Leases(client, clock, (lease) => this.#queue.forget(lease));
    this.#reads = new Reads(shared, clock);
    this.#writes = { shared, leases: this.#leases, namespace, parents: new ParentNodes(shared, acls), acls };
    this.#queue = new Queue(this.#writes, clock);
    const missing = (right: Right, paths: readonly string[]): MissingPermission => missingOn(right, paths, { root, auths });
    this.#watchContext = { session: shared, clock, namespace, reads: this.#reads, missing };
    this.#watches = new WatchSet(this.#watchContext);
    this.capabilities = capabilitiesOf(parts);
    const ticketOf = this.#leases.ticketOf.bind(this.#leases);
    this.revocation = revocationOf(import.meta.url, access, { ticketOf });
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    const call = this.#check(options);
    checkDuration('ttlMs', ttlMs);
    try {
      return await this.#withErrors('grantLease', this.#leases.grant(ttlMs, call));
    } catch (error) {
      throw grantOfUnknownOutcome(error);
    }
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    const call = this.#check(options);
    return this.#byLease(lease, 'renewLease', call, this.#leases.renew(lease, call));
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    const call = this.#check(options);
    await this.#withErrors('revokeLease', this.#leases.revoke(lease, call));
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    const call = this.#check(options);
    checkChanges(changes);
    checkSwapSize(this, changes);
    const lease = leaseOf(changes);
    const swap = compareAndSwap(this.#writes, changes.map(copyOf), this.#time(call));
    const checked = lease === undefined ? this.#withoutLease('compareAndSwap', swap) : this.#byLease(lease, 'compareAndSwap', call, swap);
    const keys = changes.map(({ key }) => key);
    const result = await namingGrant(checked, () => this.#missing('create, write and delete', keys));
    if (result.swapped) for (const change of changes) if ('delete' in change) this.#queue.forgetEntry(change.key);
    return result;
  }

  async enqueue(prefix: api.Key, name: string, value: Uint8Array, lease: api.LeaseId, options: api.CallOptions = {}): Promise<api.Entry> {
    const call = this.#check(options);
    checkValueSize(this, value, checkEntryKey(prefix, name));
    const entry = this.#queue.enqueue({ prefix, name, value: new Uint8Array(value), lease }, call);
    return namingGrant(this.#byLease(lease, 'enqueue', call, entry), () => this.#missing('create, write and delete', [prefix]));
  }

  async read(key: api.Key, options: api.ReadOptions = {}): Promise<api.Entry | undefined> {
    const call = this.#check(options);
    const path = this.#namespace.path(checkPath('key', key));
    const reads = options.fresh === false ? this.#reads.sessionConsistent : this.#reads;
    const data = await namingGrant(this.#withoutLease('read', reads.data(path, call)), () => this.#missing('read', [key]));
    return data === undefined ? undefined : this.#namespace.entry(path, data);
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    const call = this.#check(options);
    checkPath('prefix', prefix);
    checkListing(options);
    const entries = list(this.#reads, this.#namespace, prefix, options, this.#time(call));
    return namingGrant(this.#withoutLease('list', entries), () => this.#missing('read', [prefix]));
  }

  watch(key: api.Key, options: api.KeyWatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    checkPath('key', key);
    const { values = true } = options;
    return this.#watches.watch(new KeyTarget(this.#watchContext, key, values), options);
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    checkPath('prefix', prefix);
    return this.#watches.watch(listTarget(this.#watchContext, prefix), options);
  }

  /** Waits up to 500 ms for the servers to end the session of reads and watches. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = this.#client.close();
    this.#watches.fail(storeClosed(this.name));
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #missing(right: Right, keys: readonly api.Key[]): MissingPermission {
    const paths = keys.map((key) => this.#namespace.path(key));
    return this.#watchContext.missing(right, paths);
  }

  #check<O extends api.CallOptions>(options: O): api.TimedCall<O> {
    const call = checkCall(options);
    options.signal?.throwIfAborted();
    if (this.#closed) throw storeClosed(this.name);
    return call;
  }

  #time(call: api.TimedCall): CallTime {
    return new CallTime(this.#clock, call, ExchangeError);
  }

  async #withErrors<T>(what: string, call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw error instanceof ExchangeError ? closedError(error, what, this.#closed) : error;
    }
  }

  /**
   * A session that is given up during a call may be alive on the servers. It is then ended, so that
   * the lease is certainly gone.
   */
  async #byLease<T>(lease: api.LeaseId, what: string, options: api.TimedCall, call: Promise<T>): Promise<T> {
    const time = this.#time(options);
    try {
      return await call;
    } catch (error) {
      if (this.#closed || !isGivenUp(error)) return this.#withErrors(what, call);
      const end = async (): Promise<void> => this.#leases.revoke(lease, time.left);
      await this.#withErrors(what, end());
      throw noSuchLease(lease);
    }
  }

  /** A call that names no lease never reports that a lease has expired. */
  async #withoutLease<T>(what: string, call: Promise<T>): Promise<T> {
    try {
      return await this.#withErrors(what, call);
    } catch (error) {
      throw notOfOneLease(error);
    }
  }
}

/** A copy, because the caller may change its bytes after the call. */
function copyOf(change: api.Change): api.Change {
  return 'put' in change ? { ...change, put: new Uint8Array(change.put) } : change;
}
