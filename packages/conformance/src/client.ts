/**
 * A store with the defaults of its harness filled in, so that the code of a case shows only its
 * claim.
 */

import assert from 'node:assert/strict';
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
  QueueLook,
  Renewal,
  Revision,
  Store,
  SwapResult,
} from '@incumbent/core';
import type { StoreHarness } from './harness.ts';
import { Watcher, type WatcherOptions } from './watcher.ts';

/**
 * The ttl of a lease that outlives the case, in ms. It is not much longer than a case, because a
 * store that outlives its cases keeps the keys for this time.
 */
const LONG_MS = 60_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function bytes(value: string): Uint8Array {
  return encoder.encode(value);
}

export function text(entry: Entry | undefined): string | undefined {
  return entry === undefined ? undefined : decoder.decode(entry.value);
}

/** A new entry, and what the store has read of the queue while it added the entry. */
export interface Looked {
  readonly entry: Entry;
  /** One element for each call of `look.seen`: none or one. */
  readonly seen: readonly { readonly ahead: readonly Entry[]; readonly found: Entry | undefined }[];
}

export class Client {
  readonly store: Store;
  readonly clock: Clock;
  readonly #ttlMs: number;
  readonly #timeoutMs: number;

  constructor(harness: StoreHarness, store: Store) {
    this.store = store;
    this.clock = harness.clock;
    this.#ttlMs = harness.ttlMs;
    this.#timeoutMs = harness.timeoutMs;
  }

  /** The options of a call. */
  call(): CallOptions {
    return { timeoutMs: this.#timeoutMs };
  }

  /** The options of a lease call that is made now. */
  leaseCall(): LeaseOptions {
    return { timeoutMs: this.#timeoutMs, at: { monotonicMs: this.clock.monotonic(), wallMs: this.clock.wall() } };
  }

  grant(ttlMs: number): Promise<Lease> {
    return this.store.grantLease(ttlMs, this.leaseCall());
  }

  /** Grants a lease that outlives the case. */
  longLease(): Promise<Lease> {
    return this.grant(Math.min(this.store.capabilities.maxTtlMs, LONG_MS));
  }

  /** Grants a lease that expires within the case unless it is renewed. */
  shortLease(): Promise<Lease> {
    return this.grant(this.#ttlMs);
  }

  renew(lease: Lease): Promise<Renewal> {
    return this.store.renewLease(lease.id, this.leaseCall());
  }

  revoke(lease: Lease): Promise<void> {
    return this.store.revokeLease(lease.id, this.call());
  }

  swap(...changes: readonly Change[]): Promise<SwapResult> {
    return this.store.compareAndSwap(changes, this.call());
  }

  /** Writes a key, which must succeed. Returns the new revision. */
  async put(key: Key, expect: Revision | null, value: string, lease?: LeaseId | 'keep' | null): Promise<Revision> {
    const put = bytes(value);
    const result = await this.swap(lease === undefined ? { key, expect, put } : { key, expect, put, lease });
    assert.equal(result.swapped, true, `${key} could not be written`);
    const [revision] = result.swapped ? result.revisions : [];
    assert.equal(typeof revision, 'string', `no revision of ${key} was answered`);
    return revision ?? '';
  }

  create(key: Key, value: string, lease?: Lease): Promise<Revision> {
    return lease === undefined ? this.put(key, null, value) : this.put(key, null, value, lease.id);
  }

  /** Deletes a key, which must succeed. */
  async remove(key: Key, expect: Revision): Promise<void> {
    assert.equal((await this.swap({ key, expect, delete: true })).swapped, true, `${key} could not be deleted`);
  }

  read(key: Key): Promise<Entry | undefined> {
    return this.store.read(key, this.call());
  }

  /** Reads a key, which must exist. */
  async get(key: Key): Promise<Entry> {
    return present(await this.read(key), key);
  }

  enqueue(prefix: Key, name: string, lease: Lease, value: string = ''): Promise<Entry> {
    return this.store.enqueue(prefix, name, bytes(value), lease.id, this.call());
  }

  /** Enqueues, and asks the store to read in the same step. */
  async enqueueLooking(prefix: Key, name: string, lease: Lease, wanted: Pick<QueueLook, 'key' | 'last'>): Promise<Looked> {
    const seen: Looked['seen'][number][] = [];
    const look = { ...wanted, seen: (ahead: readonly Entry[], found: Entry | undefined): void => void seen.push({ ahead, found }) };
    return { entry: await this.store.enqueue(prefix, name, bytes(''), lease.id, { ...this.call(), look }), seen };
  }

  list(prefix: Key, options: Partial<ListOptions> = {}): Promise<readonly Entry[]> {
    return this.store.list(prefix, { ...this.call(), ...options });
  }

  async names(prefix: Key, options: Partial<ListOptions> = {}): Promise<readonly string[]> {
    return (await this.list(prefix, options)).map((entry) => entry.name);
  }

  watch(key: Key, options: WatcherOptions = {}): Watcher<Entry | undefined> {
    return new Watcher(this.clock, (watchOptions) => this.store.watch(key, watchOptions), options);
  }

  /** A watch that may show only what has changed since a call has shown the key. */
  watchSince({ key, revision }: Entry): Watcher<Entry | undefined> {
    return new Watcher(this.clock, (watchOptions) => this.store.watch(key, { ...watchOptions, since: revision }));
  }

  /** A watch that reports only whether the key exists. */
  watchPresence(key: Key): Watcher<Entry | undefined> {
    return new Watcher(this.clock, (watchOptions) => this.store.watch(key, { ...watchOptions, values: false }));
  }

  watchList(prefix: Key, options: WatcherOptions = {}): Watcher<readonly Entry[]> {
    return new Watcher(this.clock, (watchOptions) => this.store.watchList(prefix, watchOptions), options);
  }
}

/** Opens another client on the case's namespace. */
export async function connect(harness: StoreHarness): Promise<Client> {
  return new Client(harness, await harness.open());
}

/** Returns the entry, which must exist. */
export function present(entry: Entry | undefined, what: string): Entry {
  assert.ok(entry !== undefined, `${what} is absent`);
  return entry;
}

export interface NamedCall {
  readonly operation: string;
  readonly call: (options: CallOptions) => Promise<unknown>;
}

/**
 * One call of each kind that would succeed on a healthy link. `lease` is a live lease. Make each
 * call at most once.
 */
export function everyCall(client: Client, lease: Lease): readonly NamedCall[] {
  const { store } = client;
  const { at } = client.leaseCall();
  return [
    { operation: 'grantLease', call: (options) => store.grantLease(lease.ttlMs, { ...options, at }) },
    { operation: 'renewLease', call: (options) => store.renewLease(lease.id, { ...options, at }) },
    { operation: 'compareAndSwap', call: (options) => store.compareAndSwap([{ key: 'swapped', expect: null, put: bytes('') }], options) },
    { operation: 'enqueue', call: (options) => store.enqueue('queued', 'name', bytes(''), lease.id, options) },
    { operation: 'read', call: (options) => store.read('swapped', options) },
    { operation: 'list', call: (options) => store.list('queued', options) },
    { operation: 'revokeLease', call: (options) => store.revokeLease(lease.id, options) },
  ];
}
