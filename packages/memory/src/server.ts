/** A whole store in one process: its data, an operator's hand on it, and the clients that connect. */

import { StoreError, type Clock, type Entry, type Key, type LeaseId, type StoreCapabilities } from '@incumbent/core';
import { checkPath } from '@incumbent/core/adapter';
import { linkSettings, serverSettings, type ConnectOptions, type MemoryServerOptions, type Verb } from './options.ts';
import { State } from './state.ts';
import { entryOf, MemoryStore, type ServerSide } from './store.ts';
import { Subscriptions } from './subscriptions.ts';

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
