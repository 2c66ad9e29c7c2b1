/**
 * A store in this process: the server, which keeps the keys, and its clients, the stores. They
 * share a file because each refers to the other.
 */

import type * as api from '@incumbent/core';
import {
  checkCall,
  checkChanges,
  checkListing,
  checkEntryKey,
  checkPath,
  checkDuration,
  nameOfKey,
  partOfList,
  watchStates,
  withoutValue,
} from '@incumbent/core/adapter';
import { CallFaults } from './client/call-faults.ts';
import { Calls } from './client/calls.ts';
import { Connection } from './client/connection.ts';
import { MemoryLink } from './client/link.ts';
import { Database, revisionOf } from './database.ts';
import { serverClosed } from './errors.ts';
import type { Row } from './key-table.ts';
import {
  linkSettings,
  serverSettings,
  type ConnectOptions,
  type LinkSettings,
  type MemoryServerOptions,
  type Operation,
} from './options.ts';
import { Watch, type WatchContext } from './watch.ts';
import { WatchHub } from './watch-hub.ts';

/** How many requests of each kind a server has applied or refused. */
export type Requests = Readonly<Record<Operation, number>>;

/** A lease that has not ended. */
export interface LiveLease {
  readonly id: api.LeaseId;
  readonly ttlMs: number;
  /** The time until the lease ends if nobody renews it, in ms. */
  readonly remainingMs: number;
  /** The keys that are bound to the lease, with their namespaces. */
  readonly keys: readonly api.Key[];
}

/**
 * A linearizable store: each request takes effect at one instant. A lease never ends before its ttl
 * has passed on the server's clock, and ends as soon afterwards as the clock's timers allow. The
 * server uses no random numbers and no time but the clock's, so that a run on a manual clock is the
 * same every time.
 *
 * The methods that read and write keys and leases are for operators. They act at once, whatever the
 * faults of the links. Their keys include the namespace: `<namespace>/<key>`.
 */
export class MemoryServer {
  readonly clock: api.Clock;
  readonly capabilities: api.StoreCapabilities;
  readonly #hub = new WatchHub();
  readonly #database: Database;
  readonly #onLastClientClosed: () => void;
  readonly #stores = new Set<MemoryStore>();
  readonly #requests: Record<Operation, number> = {
    grantLease: 0,
    renewLease: 0,
    revokeLease: 0,
    compareAndSwap: 0,
    enqueue: 0,
    read: 0,
    list: 0,
  };
  #connected = 0;
  #isClosed = false;

  /**
   * `onLastClientClosed` is called whenever the last client was closed.
   *
   * @throws {TypeError | RangeError} `INVALID_OPTION`
   */
  constructor(options: MemoryServerOptions = {}, onLastClientClosed: () => void = () => {}) {
    const { clock, capabilities } = serverSettings(options);
    this.#onLastClientClosed = onLastClientClosed;
    this.clock = clock;
    this.capabilities = capabilities;
    this.#database = new Database(clock, capabilities, (keys) => this.#hub.notify(keys));
  }

  /**
   * Connects a client, with a link of its own.
   *
   * @throws {StoreError} `STORE_CLOSED`: the server was closed
   * @throws {TypeError | RangeError} `INVALID_OPTION`
   */
  connect(options: ConnectOptions = {}): MemoryStore {
    if (this.#isClosed) throw serverClosed();
    this.#connected += 1;
    const store = new MemoryStore(this.#access(), this.#connected, linkSettings(options, this.clock));
    this.#stores.add(store);
    return store;
  }

  #access(): ServerAccess {
    return {
      server: this,
      database: this.#database,
      hub: this.#hub,
      admit: (operation) => this.#admit(operation),
      disconnected: (store) => this.#disconnected(store),
    };
  }

  #admit(operation: Operation): boolean {
    if (!this.#isClosed) this.#requests[operation] += 1;
    return !this.#isClosed;
  }

  #disconnected(store: MemoryStore): void {
    this.#stores.delete(store);
    if (this.#stores.size === 0) this.#onLastClientClosed();
  }

  /** The number of requests so far. A copy, which does not change. */
  get requests(): Requests {
    return { ...this.#requests };
  }

  /**
   * How many watches were opened so far, counted again after each outage, and how many are open.
   */
  get watches(): { readonly opened: number; readonly open: number } {
    return { opened: this.#hub.opened, open: this.#hub.open };
  }

  /** How many clients are connected. */
  get clients(): number {
    return this.#stores.size;
  }

  /** All entries, in the order of creation. */
  entries(): readonly api.Entry[] {
    return this.#database.all().map((row) => entryOf(row, ''));
  }

  /** All keys, in the order of creation. */
  keys(): readonly api.Key[] {
    return this.#database.all().map((row) => row.key);
  }

  /** The live leases, in the order in which they were granted. */
  leases(): readonly LiveLease[] {
    const now = this.clock.monotonic();
    return this.#database.leases().map(({ id, ttlMs, endsAtMs, keys }) => ({ id, ttlMs, remainingMs: endsAtMs - now, keys: [...keys] }));
  }

  /**
   * Creates or replaces a key, bound to no lease.
   *
   * @throws `INVALID_NAME` for a key that the store contract does not allow.
   */
  put(key: api.Key, value: Uint8Array): void {
    this.#database.force(checkPath('key', key), value.slice());
  }

  /**
   * Deletes a key. False: the key is absent.
   *
   * @throws `INVALID_NAME` for a key that the store contract does not allow.
   */
  deleteKey(key: api.Key): boolean {
    return this.#database.remove(checkPath('key', key));
  }

  /** Ends a live lease now, and deletes the keys bound to it. False: there is no such lease. */
  expireLease(lease: api.LeaseId): boolean {
    return this.#database.revoke(lease);
  }

  /**
   * Closes every client and stops every timer. The contents can still be read, and no lease ends
   * any more. Idempotent.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#stores].map((store) => store.close()));
    this.#database.stop();
  }
}

/** The part of the server that its clients use. */
export interface ServerAccess {
  readonly server: MemoryServer;
  readonly database: Database;
  readonly hub: WatchHub;
  /** Counts a request that is about to be applied. False: the server was closed. */
  admit(operation: Operation): boolean;
  /** Called once, after the client was closed. */
  disconnected(store: MemoryStore): void;
}

/** A client of a memory server. Its keys are below its namespace, and its link can have faults. */
export class MemoryStore implements api.Store {
  readonly name = 'memory';
  readonly namespace: string | undefined;
  readonly capabilities: api.StoreCapabilities;
  /** The server, with the methods for operators. */
  readonly server: MemoryServer;
  /** Switches faults of this client's link on and off. */
  readonly link: MemoryLink;
  readonly #access: ServerAccess;
  /** The number of this client, which its leases carry. */
  readonly #owner: number;
  readonly #keyPrefix: string;
  readonly #connection: Connection;
  readonly #calls: Calls;
  readonly #keyWatches: WatchContext<Row | undefined>;
  readonly #listWatches: WatchContext<readonly Row[]>;
  // All watches share these functions.
  readonly #showEntry = (row: Row | undefined): api.Entry | undefined => this.#maybeEntry(row);
  readonly #showWithoutValue = (row: Row | undefined): api.Entry | undefined => row && withoutValue(this.#entry(row));
  readonly #showEntries = (rows: readonly Row[]): readonly api.Entry[] => rows.map((row) => this.#entry(row));
  #isClosed = false;

  constructor(access: ServerAccess, owner: number, settings: LinkSettings) {
    const faults = new CallFaults();
    this.server = access.server;
    this.capabilities = access.server.capabilities;
    this.#access = access;
    this.#owner = owner;
    this.#keyPrefix = settings.keyPrefix;
    this.namespace = settings.keyPrefix === '' ? undefined : settings.keyPrefix.slice(0, -1);
    this.#connection = new Connection(settings.clock, settings.latencyOf);
    const { database, hub } = access;
    this.#keyWatches = { connection: this.#connection, watchers: hub.keys, read: (key) => database.read(key) };
    this.#listWatches = { connection: this.#connection, watchers: hub.prefixes, read: (prefix) => database.list(prefix) };
    this.#calls = new Calls(this.#connection, faults, (operation) => access.admit(operation));
    this.link = new MemoryLink(this.#connection, faults);
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    const call = checkCall(options);
    checkDuration('ttlMs', ttlMs);
    const grant = (): Pick<api.Lease, 'id' | 'ttlMs'> => this.#access.database.grant(ttlMs, this.#owner);
    const { id, ttlMs: granted } = await this.#calls.run('grantLease', grant, call);
    return { id, ttlMs: granted, validFrom: options.at };
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    const call = checkCall(options);
    const { ttlMs } = await this.#calls.run('renewLease', () => this.#access.database.renew(lease), call);
    return { ttlMs, validFrom: options.at };
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    const call = checkCall(options);
    await this.#calls.run('revokeLease', () => this.#access.database.revoke(lease), call);
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    const call = checkCall(options);
    checkChanges(changes);
    const inside = changes.map((change) => this.#change(change));
    return this.#calls.run('compareAndSwap', () => this.#swap(inside), call);
  }

  async enqueue(prefix: api.Key, name: string, value: Uint8Array, lease: api.LeaseId, options: api.CallOptions = {}): Promise<api.Entry> {
    const call = checkCall(options);
    const key = this.#inside(checkEntryKey(prefix, name));
    // Not slice(), which would share the memory of a Buffer.
    const copy = new Uint8Array(value);
    return this.#calls.run('enqueue', () => this.#entry(this.#access.database.enqueue(key, copy, lease, this.#owner)), call);
  }

  async read(key: api.Key, options: api.CallOptions = {}): Promise<api.Entry | undefined> {
    const call = checkCall(options);
    const inside = this.#inside(checkPath('key', key));
    return this.#calls.run('read', () => this.#maybeEntry(this.#access.database.read(inside)), call);
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    checkListing(options);
    const call = checkCall(options);
    const inside = this.#inside(checkPath('prefix', prefix));
    return this.#calls.run('list', () => this.#list(inside, options), call);
  }

  watch(key: api.Key, options: api.KeyWatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    const show = options.values === false ? this.#showWithoutValue : this.#showEntry;
    return this.#watch(this.#keyWatches, this.#inside(checkPath('key', key)), show, options);
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    return this.#watch(this.#listWatches, this.#inside(checkPath('prefix', prefix)), this.#showEntries, options);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
    this.#access.disconnected(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #watch<S, T>(context: WatchContext<S>, path: api.Key, show: (state: S) => T, options: api.WatchOptions): AsyncIterable<T> {
    return watchStates((controller) => new Watch(context, path, controller).start(), show, options);
  }

  #swap(changes: readonly api.Change[]): api.SwapResult {
    const result = this.#access.database.swap(changes, this.#owner);
    if (result.swapped) return { swapped: true, revisions: result.rows.map((row) => (row === undefined ? undefined : revisionOf(row))) };
    return { swapped: false, failed: result.failed.map(({ index, current }) => ({ index, current: this.#maybeEntry(current) })) };
  }

  #list(prefix: api.Key, { values = true, before, ...part }: api.ListOptions): readonly api.Entry[] {
    const rows = this.#access.database.list(prefix).filter((row) => before === undefined || row.order < before.order);
    const some = partOfList(rows, part).map((row) => this.#entry(row));
    return values ? some : some.map(withoutValue);
  }

  #inside(key: api.Key): api.Key {
    return this.#keyPrefix + key;
  }

  /** The change with the server's key, and a copy of the caller's bytes. */
  #change(change: api.Change): api.Change {
    const key = this.#inside(change.key);
    return 'put' in change ? { ...change, key, put: new Uint8Array(change.put) } : { ...change, key };
  }

  #maybeEntry(row: Row | undefined): api.Entry | undefined {
    return row === undefined ? undefined : this.#entry(row);
  }

  #entry(row: Row): api.Entry {
    return entryOf(row, this.#keyPrefix);
  }
}

/** The entry of a row, for a client whose keys follow `keyPrefix`. */
function entryOf(row: Row, keyPrefix: string): api.Entry {
  const key = row.key.slice(keyPrefix.length);
  const name = nameOfKey(key);
  const entry = { key, name, value: new Uint8Array(row.value), revision: revisionOf(row), order: BigInt(row.order) };
  return row.lease === undefined ? entry : { ...entry, lease: row.lease };
}
