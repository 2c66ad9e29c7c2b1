/** One client of a memory server: the store contract. */

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
  Store,
  StoreCapabilities,
  SwapResult,
  KeyWatchOptions,
  WatchOptions,
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
import { CallFaults } from './call-faults.ts';
import { Calls } from './calls.ts';
import { Feed, type Source } from './feed.ts';
import { MemoryLink } from './link.ts';
import type { LinkSettings, Verb } from './options.ts';
import { revisionOf, type State } from './state.ts';
import type { Row } from './rows.ts';
import type { MemoryServer } from './server.ts';
import type { Subscriptions } from './subscriptions.ts';
import { Wire } from './wire.ts';

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
export function entryOf(row: Row, keyPrefix: string): Entry {
  const key = row.key.slice(keyPrefix.length);
  const name = key.slice(key.lastIndexOf('/') + 1);
  const entry = { key, name, value: new Uint8Array(row.value), revision: revisionOf(row), order: row.order };
  return row.lease === undefined ? entry : { ...entry, lease: row.lease };
}
