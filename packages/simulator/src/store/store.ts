/**
 * One client of the simulated store: implements the store contract for one process of the world.
 */

import type * as api from '@incumbent/core';
import {
  checkCall,
  checkChanges,
  checkListing,
  checkLook,
  checkEntryKey,
  checkPath,
  checkDuration,
  partOfList,
  watchStates,
  withoutValue,
  type WatchController,
} from '@incumbent/core/adapter';
import { Calls, closed, type CallsContext } from './calls.ts';
import { SimWatch, type SimWatchContext, type Source } from './watch.ts';
import type { SimServer } from './server.ts';
import type { Row, Swap } from './state.ts';

export type StoreContext = CallsContext & SimWatchContext;

/** What a store has seen when it added an entry. */
interface Seen {
  readonly ahead: readonly Row[];
  readonly found: Row | undefined;
}

interface Added {
  readonly row: Row;
  readonly seen: Seen | undefined;
}

export class SimStore implements api.Store {
  readonly name = 'simulated';
  readonly capabilities: api.StoreCapabilities;
  readonly #context: StoreContext;
  readonly #server: SimServer;
  readonly #owner: string;
  readonly #calls: Calls;
  readonly #watches = new Set<Pick<SimWatch<never>, 'fail' | 'abandon'>>();
  /**
   * When each lease was last known to be renewed, for a store whose acknowledgements prove only the
   * previous renewal.
   */
  readonly #acknowledged = new Map<api.LeaseId, api.Moment>();

  constructor(context: StoreContext) {
    this.#context = context;
    this.#server = context.server;
    this.#owner = context.process.name;
    this.capabilities = context.server.capabilities;
    this.#calls = new Calls(context);
  }

  /** How many watches are open. */
  get watches(): number {
    return this.#watches.size;
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    const call = checkCall(options);
    checkDuration('ttlMs', ttlMs);
    const { minTtlMs, maxTtlMs } = this.capabilities;
    const info = Math.min(Math.max(ttlMs, minTtlMs), maxTtlMs);
    const granted = await this.#calls.run({ operation: 'grantLease' }, () => this.#server.leases.grant(info, this.#owner), call);
    this.#acknowledged.set(granted.id, options.at);
    return { id: granted.id, ttlMs: granted.ttlMs, validFrom: options.at };
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    const call = checkCall(options);
    const { ttlMs } = await this.#calls.run({ operation: 'renewLease' }, () => this.#server.leases.renew(lease), call);
    const before = this.#acknowledged.get(lease) ?? options.at;
    this.#acknowledged.set(lease, options.at);
    return { ttlMs, validFrom: this.#server.shape.acknowledges === 'previous' ? before : options.at };
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    const call = checkCall(options);
    await this.#calls.run({ operation: 'revokeLease' }, () => this.#server.endLease(lease, { by: 'revoke', owner: this.#owner }), call);
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    const call = checkCall(options);
    checkChanges(changes);
    const own = changes.map((change) => ('put' in change ? { ...change, put: new Uint8Array(change.put) } : change));
    const { state, leases } = this.#server;
    return shown(
      await this.#calls.run(
        { operation: 'compareAndSwap', about: changes[0]?.key ?? '' },
        () => state.swap(own, leases, this.#owner),
        call,
      ),
    );
  }

  async enqueue(
    prefix: api.Key,
    name: string,
    value: Uint8Array,
    lease: api.LeaseId,
    options: api.EnqueueOptions = {},
  ): Promise<api.Entry> {
    const call = checkCall(options);
    const key = checkEntryKey(prefix, name);
    const copy = new Uint8Array(value);
    const { state, leases } = this.#server;
    checkLook(options.look);
    const add = (): Added => {
      const existed = state.get(key) !== undefined;
      const row = state.enqueue(key, copy, lease, leases, this.#owner);
      return { row, seen: existed ? undefined : this.#look(prefix, row, options.look) };
    };
    const { row, seen } = await this.#calls.run({ operation: 'enqueue', about: key }, add, call);
    if (seen !== undefined) options.look?.seen(seen.ahead.map(entryOf).map(withoutValue), maybe(seen.found));
    return entryOf(row);
  }

  /** Only some stores can read in the step in which they add an entry. */
  #look(prefix: api.Key, { order }: Row, look: api.QueueLook | undefined): Seen | undefined {
    const { state, shape } = this.#server;
    if (look === undefined || shape.looks !== true) return undefined;
    const earlier = state.below(prefix).filter((row) => row.order < order);
    return { ahead: partOfList(earlier, { last: look.last }), found: state.get(look.key) };
  }

  /** A read that need not be fresh returns the state from before the request was sent. */
  async read(key: api.Key, options: api.ReadOptions = {}): Promise<api.Entry | undefined> {
    const call = checkCall(options);
    checkPath('key', key);
    const { state } = this.#server;
    const before = options.fresh === false ? { row: state.get(key) } : undefined;
    return maybe(await this.#calls.run({ operation: 'read', about: key }, () => (before ?? { row: state.get(key) }).row, call));
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    const call = checkCall(options);
    checkPath('prefix', prefix);
    checkListing(options);
    const { values = true, before, first, last } = options;
    const whole = first === undefined && last === undefined;
    const found = await this.#calls.run({ operation: 'list', about: prefix, whole }, () => this.#server.state.below(prefix), call);
    const rows = before === undefined ? found : found.filter((row) => BigInt(row.order) < before.order);
    const some = partOfList(rows, options).map(entryOf);
    return values ? some : some.map(withoutValue);
  }

  watch(key: api.Key, options: api.KeyWatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    checkPath('key', key);
    const { state } = this.#server;
    const show = options.values === false ? bare : maybe;
    return this.#watch({ matches: (changed) => changed === key, look: () => state.get(key) }, show, options);
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    const path = `${checkPath('prefix', prefix)}/`;
    const { state } = this.#server;
    const source = { matches: (changed: api.Key) => changed.startsWith(path), look: () => state.below(prefix) };
    return this.#watch(source, (rows) => rows.map((row) => entryOf(row)), options);
  }

  async close(): Promise<void> {
    if (this.#calls.closed) return;
    this.#calls.close();
    for (const simWatch of [...this.#watches]) simWatch.fail(closed('unknown'));
  }

  /** The process has died. The store notices, and nobody else is notified. */
  abandon(): void {
    for (const simWatch of this.#watches) simWatch.abandon();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #watch<S, T>(source: Source<S>, show: (seen: S) => T, options: api.WatchOptions): AsyncIterable<T> {
    const { process } = this.#context;
    const begin = (watch: WatchController<S>): api.Cancel => {
      if (this.#calls.closed) throw closed('notSent');
      const simWatch = new SimWatch(this.#context, source, watch);
      this.#watches.add(simWatch);
      const stop = simWatch.start();
      return () => {
        this.#watches.delete(simWatch);
        stop();
      };
    };
    // A process that is stopped is notified when it runs again.
    const onStale = (cause: api.StoreError): void => process.run(() => options.onStale?.(cause));
    return watchStates(begin, show, { ...options, onStale });
  }
}

function shown(swap: Swap): api.SwapResult {
  if (!swap.swapped) return { swapped: false, failed: swap.failed.map(({ index, current }) => ({ index, current: maybe(current) })) };
  return { swapped: true, revisions: swap.rows.map((row) => (row === undefined ? undefined : String(row.revision))) };
}

/** The entry that a store reports if its notifications carry no values. */
function bare(row: Row | undefined): api.Entry | undefined {
  return row === undefined ? undefined : { key: row.key, name: nameOf(row), value: new Uint8Array(), revision: '', order: 0n };
}

function maybe(row: Row | undefined): api.Entry | undefined {
  return row === undefined ? undefined : entryOf(row);
}

/**
 * Converts a row to an entry of the contract. Copies the bytes, so that no caller can change the
 * store's contents.
 */
function entryOf(row: Row): api.Entry {
  const { key, lease } = row;
  const entry = { key, name: nameOf(row), value: new Uint8Array(row.value), revision: String(row.revision), order: BigInt(row.order) };
  return lease === undefined ? entry : { ...entry, lease };
}

function nameOf({ key }: Row): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
