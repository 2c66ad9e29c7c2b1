/** A store in this process: the server, which keeps the keys, and its clients, the stores. */

import {
  type CallOptions,
  type Change,
  type Clock,
  type Entry,
  type Key,
  type KeyWatchOptions,
  type Lease,
  type LeaseId,
  type LeaseOptions,
  type ListOptions,
  type Renewal,
  type Store,
  type StoreCapabilities,
  StoreError,
  type SwapResult,
  type WatchOptions,
} from '@incumbent/core';
import {
  checkCall,
  checkChanges,
  checkListing,
  checkPart,
  checkPath,
  checkTime,
  someOf,
  watchStates,
  withoutValue,
} from '@incumbent/core/adapter';
import { CallFaults } from './client/call-faults.ts';
import { Calls } from './client/calls.ts';
import { Feed, type Source } from './watch.ts';
import { MemoryLink } from './client/link.ts';
import { type ConnectOptions, type LinkSettings, linkSettings, type MemoryServerOptions, serverSettings, type Verb } from './options.ts';
import type { Row } from './key-table.ts';
import { revisionOf, State } from './database.ts';
import { Subscriptions } from './watch-hub.ts';
import { Wire } from './client/connection.ts';

/** How many requests of each kind a server has applied, or refused. */
export type Requests = Readonly<Record<Verb, number>>;

/** A lease that is live now. */
export interface LiveLease {
  readonly id: LeaseId;
  readonly ttlMs: number;
  /** Until it expires if nobody renews it, in ms. */
  readonly remainingMs: number;
  /** Bound to it, as the server names them. */
  readonly keys: readonly Key[];
}

/**
 * A linearizable store: each request takes effect at one instant, and a lease ends exactly when its time is up by the server's clock, or as
 * soon after as the clock's timers allow; never before. Nothing happens at random and no time is read but from the clock, so that a run
 * on a manual clock repeats itself.
 *
 * The methods that read and write here are an operator's: they act at once, past every client and every fault. Their keys are absolute:
 * a client's namespace, `/`, and the client's key.
 */
export class MemoryServer {
  readonly clock: Clock;
  readonly capabilities: StoreCapabilities;
  readonly #subscriptions = new Subscriptions();
  readonly #state: State;
  readonly #whenLeft: () => void;
  readonly #stores = new Set<MemoryStore>();
  readonly #requests: Record<Verb, number> = {
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
   * `whenLeft` is called when the last client was closed. Throws a `RangeError` or `TypeError` (`INVALID_OPTION`) for an option that cannot
   * be used.
   */
  constructor(options: MemoryServerOptions = {}, whenLeft: () => void = () => {}) {
    const { clock, capabilities } = serverSettings(options);
    this.#whenLeft = whenLeft;
    this.clock = clock;
    this.capabilities = capabilities;
    this.#state = new State(clock, capabilities, (keys) => this.#subscriptions.tell(keys));
  }

  /** Another client, with a link of its own. Throws a `StoreError` (`STORE_CLOSED`) when the server was closed. */
  connect(options: ConnectOptions = {}): MemoryStore {
    if (this.#isClosed) throw new StoreError('STORE_CLOSED', 'notSent', 'the server was closed');
    this.#connected += 1;
    const store = new MemoryStore(this.#side(), this.#connected, linkSettings(options, this.clock));
    this.#stores.add(store);
    return store;
  }

  #side(): ServerSide {
    return {
      server: this,
      state: this.#state,
      subscriptions: this.#subscriptions,
      admit: (verb) => this.#admit(verb),
      disconnected: (store) => this.#disconnected(store),
    };
  }

  #admit(verb: Verb): boolean {
    if (!this.#isClosed) this.#requests[verb] += 1;
    return !this.#isClosed;
  }

  #disconnected(store: MemoryStore): void {
    this.#stores.delete(store);
    if (this.#stores.size === 0) this.#whenLeft();
  }

  /** The requests until now: a copy. */
  get requests(): Requests {
    return { ...this.#requests };
  }

  /** The watches that clients have opened here, each anew after an outage, and how many are open now. */
  get watches(): { readonly opened: number; readonly open: number } {
    return { opened: this.#subscriptions.opened, open: this.#subscriptions.open };
  }

  /** How many clients are connected. */
  get clients(): number {
    return this.#stores.size;
  }

  /** What is there, in the order of creation. */
  entries(): readonly Entry[] {
    return this.#state.all().map((row) => entryOf(row, ''));
  }

  /** The keys that are there, in the order of creation. */
  keys(): readonly Key[] {
    return this.#state.all().map((row) => row.key);
  }

  /** The leases that are live, in the order of their granting. */
  leases(): readonly LiveLease[] {
    const now = this.clock.monotonic();
    return this.#state.leases().map(({ id, ttlMs, endsAtMs, keys }) => ({ id, ttlMs, remainingMs: endsAtMs - now, keys: [...keys] }));
  }

  /** Writes raw bytes, whatever was there, bound to no lease. */
  put(key: Key, value: Uint8Array): void {
    this.#state.force(checkPath('key', key), value.slice());
  }

  /** Deletes a key, whoever made it. False: it was not there. */
  deleteKey(key: Key): boolean {
    return this.#state.remove(checkPath('key', key));
  }

  /** Ends a live lease before its time, and every key that is bound to it. False: there was none. */
  expireLease(lease: LeaseId): boolean {
    return this.#state.revoke(lease);
  }

  /** Closes every client and stops every timer. What is there can still be looked at; no lease ends any more. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#stores].map((store) => store.close()));
    this.#state.stop();
  }
}

/** What a client reaches of its server. */
export interface ServerSide {
  readonly server: MemoryServer;
  readonly state: State;
  readonly subscriptions: Subscriptions;
  /** Counts a request that is to be applied. False: the server was closed. */
  admit(verb: Verb): boolean;
  /** Called once, when the client was closed. */
  disconnected(store: MemoryStore): void;
}

export class MemoryStore implements Store {
  readonly name = 'memory';
  readonly capabilities: StoreCapabilities;
  /** What this store's server holds, and an operator's hand on it. */
  readonly server: MemoryServer;
  /** The faults of this client's link. */
  readonly link: MemoryLink;
  readonly #side: ServerSide;
  /** Whose leases are whose. */
  readonly #owner: number;
  readonly #keyPrefix: string;
  readonly #wire: Wire;
  readonly #calls: Calls;
  #isClosed = false;

  constructor(side: ServerSide, owner: number, settings: LinkSettings) {
    const faults = new CallFaults();
    this.server = side.server;
    this.capabilities = side.server.capabilities;
    this.#side = side;
    this.#owner = owner;
    this.#keyPrefix = settings.keyPrefix;
    this.#wire = new Wire(settings.clock, settings.latencyOf);
    this.#calls = new Calls(this.#wire, faults, (verb) => side.admit(verb));
    this.link = new MemoryLink(this.#wire, faults);
  }

  async grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    checkCall(options);
    checkTime('ttlMs', ttlMs);
    const grant = (): Pick<Lease, 'id' | 'ttlMs'> => this.#side.state.grant(ttlMs, this.#owner);
    const { id, ttlMs: granted } = await this.#calls.run('grantLease', grant, options);
    return { id, ttlMs: granted, validFrom: options.at };
  }

  async renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    checkCall(options);
    const { ttlMs } = await this.#calls.run('renewLease', () => this.#side.state.renew(lease), options);
    return { ttlMs, validFrom: options.at };
  }

  async revokeLease(lease: LeaseId, options: CallOptions): Promise<void> {
    checkCall(options);
    await this.#calls.run('revokeLease', () => this.#side.state.revoke(lease), options);
  }

  async compareAndSwap(changes: readonly Change[], options: CallOptions): Promise<SwapResult> {
    checkCall(options);
    checkChanges(changes);
    const inside = changes.map((change) => this.#change(change));
    return this.#calls.run('compareAndSwap', () => this.#swap(inside), options);
  }

  async enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options: CallOptions): Promise<Entry> {
    checkCall(options);
    const key = this.#inside(`${checkPath('prefix', prefix)}/${checkPart('name', name)}`);
    // Not slice(): a Buffer would share its memory.
    const copy = new Uint8Array(value);
    return this.#calls.run('enqueue', () => this.#entry(this.#side.state.enqueue(key, copy, lease, this.#owner)), options);
  }

  async read(key: Key, options: CallOptions): Promise<Entry | undefined> {
    checkCall(options);
    const inside = this.#inside(checkPath('key', key));
    return this.#calls.run('read', () => this.#maybeEntry(this.#side.state.read(inside)), options);
  }

  async list(prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
    checkListing(options);
    checkCall(options);
    const inside = this.#inside(checkPath('prefix', prefix));
    return this.#calls.run('list', () => this.#list(inside, options), options);
  }

  watch(key: Key, options: KeyWatchOptions): AsyncIterable<Entry | undefined> {
    const inside = this.#inside(checkPath('key', key));
    const { state, subscriptions } = this.#side;
    const source = { look: () => state.read(inside), subscribe: (changed: () => void) => subscriptions.add({ key: inside }, changed) };
    const show = (row: Row | undefined): Entry | undefined => {
      const entry = this.#maybeEntry(row);
      return entry === undefined || options.values !== false ? entry : withoutValue(entry);
    };
    return this.#watch(source, show, options);
  }

  watchList(prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]> {
    const inside = this.#inside(checkPath('prefix', prefix));
    const { state, subscriptions } = this.#side;
    const source = { look: () => state.list(inside), subscribe: (changed: () => void) => subscriptions.add({ prefix: inside }, changed) };
    return this.#watch(source, (rows) => rows.map((row) => this.#entry(row)), options);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#wire.close();
    this.#side.disconnected(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #watch<S, T>(source: Source<S>, show: (seen: S) => T, options: WatchOptions): AsyncIterable<T> {
    return watchStates((watch) => new Feed(this.#wire, source, watch).start(), show, options);
  }

  #swap(changes: readonly Change[]): SwapResult {
    const result = this.#side.state.swap(changes, this.#owner);
    if (result.swapped) return { swapped: true, revisions: result.rows.map((row) => (row === undefined ? undefined : revisionOf(row))) };
    return { swapped: false, failed: result.failed.map(({ index, current }) => ({ index, current: this.#maybeEntry(current) })) };
  }

  #list(prefix: Key, { values = true, before, ...part }: ListOptions): readonly Entry[] {
    const rows = this.#side.state.list(prefix).filter((row) => before === undefined || row.order < before.order);
    const some = someOf(rows, part).map((row) => this.#entry(row));
    return values ? some : some.map(withoutValue);
  }

  #inside(key: Key): Key {
    return this.#keyPrefix + key;
  }

  /** As the server is to see it. Bytes are copied, so that the caller may use its own again. */
  #change(change: Change): Change {
    const key = this.#inside(change.key);
    return 'put' in change ? { ...change, key, put: new Uint8Array(change.put) } : { ...change, key };
  }

  #maybeEntry(row: Row | undefined): Entry | undefined {
    return row === undefined ? undefined : this.#entry(row);
  }

  #entry(row: Row): Entry {
    return entryOf(row, this.#keyPrefix);
  }
}

/** A row as the contract shows it, to a client whose keys begin after `keyPrefix`. */
function entryOf(row: Row, keyPrefix: string): Entry {
  const key = row.key.slice(keyPrefix.length);
  const name = key.slice(key.lastIndexOf('/') + 1);
  const entry = { key, name, value: new Uint8Array(row.value), revision: revisionOf(row), order: row.order };
  return row.lease === undefined ? entry : { ...entry, lease: row.lease };
}
