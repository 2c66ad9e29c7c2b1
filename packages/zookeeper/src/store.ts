/** The contract, on ZooKeeper. */

import type {
  CallOptions,
  Change,
  Clock,
  Entry,
  Key,
  Lease,
  LeaseId,
  LeaseOptions,
  ListOptions,
  ReadOptions,
  Renewal,
  Revocation,
  Store,
  StoreCapabilities,
  SwapResult,
  KeyWatchOptions,
  WatchOptions,
} from '@incumbent/core';
import { checkCall, checkChanges, checkListing, checkPart, checkPath, checkTime, StoreError } from '@incumbent/core/adapter';
import { CallTime, revocationOf } from '@incumbent/network';

import { closedMeanwhile, grantInDoubt, leaseGoneIfClosed, notOfOneLease } from './errors.ts';
import { APART, leaseGone, Leases } from './leases.ts';
import { list } from './reads.ts';
import type { Namespace } from './namespace.ts';
import { Parents } from './parents.ts';
import { Queue } from './queue.ts';
import { Reads } from './client/read-batcher.ts';
import { compareAndSwap, leaseOf, type SwapContext } from './transactions.ts';
import { keyView, listView } from './views.ts';
import { WatchSet } from './watch.ts';
import type { Acl } from './protocol/acl.ts';
import type { Client } from './client/client.ts';
import { GRACE_MS } from './connection/connection.ts';
import { callOver, ExchangeError } from './connection/failure.ts';

export interface StoreParts {
  readonly clock: Clock;
  readonly namespace: Namespace;
  readonly acls: readonly Acl[];
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /** For another process to open the store by; undefined where it cannot. */
  readonly access: string | undefined;
}

/** A check that a key is absent takes two parts of the request; a server takes as many as fit into its million bytes. */
const MAX_CHANGES = 128;

/** Of the 1,048,575 bytes that servers take for a whole request, with room for its other parts. */
const MAX_VALUE_BYTES = 900_000;

/**
 * After the time in which a silent server is given up: another server takes the session over, which
 * the ensemble's leader confirms, and a quorum agrees to the barrier of a renewal.
 */
const ANSWER_MS = 100;

/** Servers list the paths of a session's nodes in one record when it ends, which may be a million bytes long too. */
const CLOSE_RECORD_BYTES = 900_000;
/** What a path has besides the namespace, and its length: that of an entry, where the election's name and the member's id are as long as they may be. */
const PATH_BYTES = 400;

export class ZookeeperStore implements Store {
  readonly name = 'zookeeper';
  readonly capabilities: StoreCapabilities;
  readonly revocation: Revocation | undefined;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #namespace: Namespace;
  readonly #leases: Leases;
  readonly #reads: Reads;
  readonly #swaps: SwapContext;
  readonly #queue: Queue;
  readonly #watches: WatchSet;
  #closed = false;

  constructor(client: Client, parts: StoreParts) {
    const { clock, namespace, acls, access } = parts;
    const { shared } = client;
    this.#client = client;
    this.#clock = clock;
    this.#namespace = namespace;
    this.#leases = new Leases(client, clock, (lease) => this.#queue.forget(lease));
    this.#reads = new Reads(shared, clock);
    this.#swaps = { shared, leases: this.#leases, namespace, parents: new Parents(shared, acls), acls };
    this.#queue = new Queue(this.#swaps, clock);
    this.#watches = new WatchSet(shared, clock);
    this.capabilities = capabilitiesOf(parts);
    const ticketOf = this.#leases.ticketOf.bind(this.#leases);
    this.revocation = revocationOf(import.meta.url, access, ticketOf);
  }

  async grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    this.#check(options);
    checkTime('ttlMs', ttlMs);
    try {
      return await this.#ofLease('grantLease', this.#leases.grant(ttlMs, options));
    } catch (error) {
      throw grantInDoubt(error);
    }
  }

  async renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    this.#check(options);
    return this.#byLease(lease, 'renewLease', options, this.#leases.renew(lease, options));
  }

  async revokeLease(lease: LeaseId, options: CallOptions): Promise<void> {
    this.#check(options);
    await this.#ofLease('revokeLease', this.#leases.revoke(lease, options));
  }

  async compareAndSwap(changes: readonly Change[], options: CallOptions): Promise<SwapResult> {
    this.#check(options);
    checkChanges(changes);
    checkSize(changes);
    const lease = leaseOf(changes);
    const swap = compareAndSwap(this.#swaps, changes.map(copyOf), this.#time(options));
    return lease === undefined ? this.#ofNone('compareAndSwap', swap) : this.#byLease(lease, 'compareAndSwap', options, swap);
  }

  async enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options: CallOptions): Promise<Entry> {
    this.#check(options);
    checkPath('prefix', prefix);
    checkPart('name', name);
    checkValue(value);
    return this.#byLease(lease, 'enqueue', options, this.#queue.enqueue({ prefix, name, value: new Uint8Array(value), lease }, options));
  }

  async read(key: Key, options: ReadOptions): Promise<Entry | undefined> {
    this.#check(options);
    const path = this.#namespace.path(checkPath('key', key));
    const reads = options.fresh === false ? this.#reads.further : this.#reads;
    const data = await this.#ofNone('read', reads.data(path, options));
    return data === undefined ? undefined : this.#namespace.entry(path, data);
  }

  async list(prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
    this.#check(options);
    checkPath('prefix', prefix);
    checkListing(options);
    return this.#ofNone('list', list(this.#reads, this.#namespace, prefix, options, this.#time(options)));
  }

  watch(key: Key, options: KeyWatchOptions): AsyncIterable<Entry | undefined> {
    const path = this.#namespace.path(checkPath('key', key));
    const { values = true } = options;
    return this.#watches.watch(
      keyView({ session: this.#client.shared, reads: this.#reads, namespace: this.#namespace, path, values }),
      options,
    );
  }

  watchList(prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]> {
    checkPath('prefix', prefix);
    return this.#watches.watch(listView(this.#clock, this.#reads, this.#namespace, prefix), options);
  }

  /** Waits a moment for the session of reads and watches to end. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = this.#client.close();
    this.#watches.fail(storeClosed());
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(options: CallOptions): void {
    checkCall(options);
    options.signal?.throwIfAborted();
    if (this.#closed) throw storeClosed();
  }

  #time(options: CallOptions): CallTime {
    return new CallTime(this.#clock, options, callOver);
  }

  async #ofLease<T>(what: string, call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      throw this.#closed ? closedMeanwhile(error, what) : leaseGoneIfClosed(error, what);
    }
  }

  /** A session that is given up in the middle of a call may live on: it is ended, so that it is certainly gone. */
  async #byLease<T>(lease: LeaseId, what: string, options: CallOptions, call: Promise<T>): Promise<T> {
    const time = this.#time(options);
    try {
      return await call;
    } catch (error) {
      if (this.#closed || !isGivenUp(error)) return this.#ofLease(what, call);
      const end = async (): Promise<void> => this.#leases.revoke(lease, time.left);
      await this.#ofLease(what, end());
      throw leaseGone(lease);
    }
  }

  /** A session that is over, of those that carry no lease, is no lease that is gone. */
  async #ofNone<T>(what: string, call: Promise<T>): Promise<T> {
    try {
      return await this.#ofLease(what, call);
    } catch (error) {
      throw notOfOneLease(error);
    }
  }
}

function capabilitiesOf({ namespace, minTtlMs, maxTtlMs }: StoreParts): StoreCapabilities {
  // A session lasts two ticks at least, where servers were not set up otherwise.
  const tickMs = minTtlMs / 2;
  return {
    linearizable: true,
    // The term key's value is counted up by the swap that compares its version.
    termSource: 'counter',
    minTtlMs,
    maxTtlMs,
    // Servers look for sessions that have ended once a tick, and hear of those of other servers every half tick.
    expiresWithinMs: (ttlMs) => Math.max(ttlMs, minTtlMs) + 2 * tickMs + 1_000,
    renewalLag: APART,
    reconnectsWithinMs: GRACE_MS + ANSWER_MS,
    // A node lives by the session that made it.
    assignableLease: false,
    watchTellsValues: false,
    // A node that is made again begins at version 0.
    revisionsSurviveDeletion: false,
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: Math.floor(CLOSE_RECORD_BYTES / (namespace.root.length + PATH_BYTES)),
  };
}

/** The caller may use its bytes again. */
function copyOf(change: Change): Change {
  return 'put' in change ? { ...change, put: new Uint8Array(change.put) } : change;
}

function checkSize(changes: readonly Change[]): void {
  if (changes.length > MAX_CHANGES) throw tooLarge(`${changes.length} changes are more than the ${MAX_CHANGES} that one swap may have`);
  for (const change of changes) if ('put' in change) checkValue(change.put);
}

function checkValue(value: Uint8Array): void {
  if (value.length > MAX_VALUE_BYTES) throw tooLarge(`a value of ${value.length} bytes is longer than ${MAX_VALUE_BYTES}`);
}

function isGivenUp(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'expired' && error.failure.by === 'clock';
}

function storeClosed(): StoreError {
  return new StoreError('STORE_CLOSED', 'notSent', 'zookeeper: the store was closed');
}

function tooLarge(message: string): StoreError {
  return new StoreError('TOO_LARGE', 'refused', `zookeeper: ${message}`);
}
