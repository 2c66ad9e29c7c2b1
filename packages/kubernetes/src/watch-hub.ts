/**
 * All watches of one store share one watch of the object with the keys. It begins with a
 * linearizable read. The server must end it after a given time, which proves that the server has
 * not become silent, and the next one begins with a read again.
 */

import type { Clock, Entry, LeaseId } from '@incumbent/core';
import { endQuietly, onAbort, sleep, type StoreError, systemRandom } from '@incumbent/core/adapter';
import { endsWatch, RetryGate, storeClosed } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { isExpiredVersion, replacedOften, toStoreError, watchSilent } from './errors.ts';
import type { KeyObject } from './keys/key-object.ts';
import { Snapshot } from './keys/snapshot.ts';
import { keysName, keysPath, type Names } from './names.ts';
import { fields, type Fields } from './objects/json.ts';

/** What one watch shows of a state. */
export interface Subscriber {
  entries(snapshot: Snapshot): readonly Entry[];
  /** The entries of a state, changed or not. */
  onState(entries: readonly Entry[]): void;
  /** The last state may be out of date. A state follows when the link works again. */
  onStale(cause: StoreError): void;
  /** The watch will never succeed. */
  onFailed(error: unknown): void;
}

export interface WatchHubOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly names: Names;
  readonly keys: KeyObject;
  /** How long the server may keep one watch open, in ms. Whole seconds. */
  readonly watchMs: number;
  /** A watch shows a key that is bound to this lease. */
  onLease(lease: LeaseId): void;
}

const READ_TIMEOUT_MS = 5_000;
/** The most reads in a row while the object is deleted or replaced during each of them. */
const MAX_READS = 5;
/** How much later than asked the server may end a watch, in ms. */
const LATE_MS = 1_000;

interface Shown {
  readonly leases: ReadonlySet<LeaseId>;
}

export class WatchHub {
  readonly #options: WatchHubOptions;
  readonly #gate: RetryGate;
  readonly #subscribers = new Map<Subscriber, Shown>();
  /** Subscribers that have not been shown a state yet. */
  readonly #newcomers = new Set<Subscriber>();
  #latest: Snapshot | undefined;
  /** Of the run under way, which ends with its last subscriber. */
  #ended: AbortController | undefined;
  /**
   * A version from which the server cannot watch any more. The object may keep its version for
   * hours, and the server forgets versions after minutes.
   */
  #expired: string | undefined;
  /** Ends the watch under way, with the reason why. */
  #restart = new AbortController();
  #isClosed = false;

  constructor(options: WatchHubOptions) {
    this.#options = options;
    this.#gate = new RetryGate(options.clock, systemRandom);
  }

  /**
   * Reports states until the returned function is called. The first state is no older than this
   * call.
   */
  subscribe(subscriber: Subscriber): () => void {
    if (this.#isClosed) {
      subscriber.onFailed(storeClosed('kubernetes'));
      return () => {};
    }
    this.#newcomers.add(subscriber);
    if (this.#ended === undefined) void this.#run();
    else void this.#greet();
    return () => {
      this.#newcomers.delete(subscriber);
      this.#subscribers.delete(subscriber);
      if (this.#newcomers.size + this.#subscribers.size === 0 && this.#ended !== undefined) endQuietly(this.#ended);
    };
  }

  /** Whether a watch shows a key that is bound to the lease. */
  shows(lease: LeaseId): boolean {
    for (const { leases } of this.#subscribers.values()) if (leases.has(lease)) return true;
    return false;
  }

  /** Ends every watch with `STORE_CLOSED`. */
  close(): void {
    this.#isClosed = true;
    this.#fail(storeClosed('kubernetes'));
    if (this.#ended !== undefined) endQuietly(this.#ended);
  }

  async #run(): Promise<void> {
    const ended = new AbortController();
    this.#ended = ended;
    this.#latest = undefined;
    const { signal } = ended;
    while (!signal.aborted) {
      this.#restart = new AbortController();
      try {
        await this.#readForNewcomers(signal, true);
        await this.#watchOnce(signal);
      } catch (error) {
        if (!signal.aborted) this.#onFailure(error);
      }
      if (this.#gate.leftMs > 0 && !signal.aborted) await sleep(this.#options.clock, this.#gate.leftMs, signal);
    }
    this.#ended = undefined;
    // Somebody may have subscribed after the end had begun.
    if (this.#newcomers.size > 0 && !this.#isClosed) void this.#run();
  }

  /** Shows newcomers a state while a watch is under way. */
  async #greet(): Promise<void> {
    const [ended, restart] = [this.#ended, this.#restart];
    if (ended === undefined || ended.signal.aborted) return;
    try {
      await this.#readForNewcomers(ended.signal, false);
    } catch (error) {
      if (!ended.signal.aborted) restart.abort(error);
    }
  }

  async #readForNewcomers(signal: AbortSignal, all: boolean): Promise<void> {
    const newcomers = [...this.#newcomers];
    const snapshot = await this.#readComparable(signal);
    if (snapshot === undefined) return;
    const present = newcomers.filter((subscriber) => this.#newcomers.delete(subscriber));
    // A later state may have arrived meanwhile.
    const newest = this.#latest === undefined || snapshot.isAtLeast(this.#latest) ? snapshot : this.#latest;
    if (!all && newest === this.#latest) {
      // The others have been shown this state, for example because another newcomer shared the
      // read.
      for (const subscriber of present) this.#show(subscriber, newest);
      return;
    }
    for (const subscriber of present) this.#subscribers.set(subscriber, { leases: new Set() });
    this.#showAll(newest);
  }

  /**
   * Reads a state that is certainly earlier or later than the latest one that is known. Undefined
   * when the signal has aborted.
   *
   * While the read was under way, the watch may have shown that the object was deleted or replaced.
   * Another object has another counter, so nothing tells whether the answer is the earlier of the
   * two. Then only another read, which begins after what the watch has shown, is certainly later.
   */
  async #readComparable(signal: AbortSignal): Promise<Snapshot | undefined> {
    for (let reads = 1; reads <= MAX_READS; reads += 1) {
      const before = this.#latest;
      const snapshot = await this.#options.keys.read({ timeoutMs: READ_TIMEOUT_MS, signal, background: true });
      if (signal.aborted) return undefined;
      const latest = this.#latest;
      if (latest === before || latest?.counter === snapshot.counter) return snapshot;
    }
    throw replacedOften();
  }

  async #watchOnce(signal: AbortSignal): Promise<void> {
    const { client, clock, names, watchMs } = this.#options;
    const known = this.#latest?.identity?.version;
    // Without a version, the watch begins with the present object, or with the object as it was
    // shortly before.
    const version = known === this.#expired ? undefined : known;
    const query = {
      fieldSelector: `metadata.name=${keysName(names)}`,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(watchMs / 1_000),
      ...(version === undefined ? {} : { resourceVersion: version }),
    };
    const until = new AbortController();
    const cancels = [signal, this.#restart.signal].map((one) => onAbort(one, () => until.abort(one.reason)));
    const beganMs = clock.monotonic();
    const options = { timeoutMs: watchMs + LATE_MS, signal: until.signal, background: true };
    try {
      await client.watch(keysPath(names), query, options, (event) => this.#onEvent(event));
      // A server that shuts down ends its watches. The next one may be refused.
      if (clock.monotonic() - beganMs < watchMs / 2) this.#gate.hold();
      else this.#gate.reset();
    } catch (error) {
      if (isExpiredVersion(error) && version !== undefined) {
        this.#expired = version;
        return;
      }
      const isSilent = !until.signal.aborted && error instanceof ExchangeError && error.failure.kind === 'timeout';
      throw isSilent ? watchSilent(watchMs + LATE_MS) : error;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  #onEvent(event: Fields): void {
    const object = fields(event['object']);
    switch (event['type']) {
      case 'ADDED':
      case 'MODIFIED':
        return this.#accept(this.#options.keys.saw(object));
      case 'DELETED':
        return this.#accept(Snapshot.absent());
      default:
    }
  }

  #accept(snapshot: Snapshot): void {
    if (this.#latest === undefined || snapshot.isAtLeast(this.#latest)) this.#showAll(snapshot);
  }

  #showAll(snapshot: Snapshot): void {
    this.#latest = snapshot;
    for (const subscriber of [...this.#subscribers.keys()]) this.#show(subscriber, snapshot);
  }

  #show(subscriber: Subscriber, snapshot: Snapshot): void {
    const entries = subscriber.entries(snapshot);
    const leases = new Set(entries.flatMap(({ lease }) => (lease === undefined ? [] : [lease])));
    this.#subscribers.set(subscriber, { leases });
    for (const lease of leases) this.#options.onLease(lease);
    subscriber.onState(entries);
  }

  #onFailure(thrown: unknown): void {
    const error = toStoreError(thrown, 'watch');
    if (endsWatch(error)) return this.#fail(error);
    this.#gate.hold();
    for (const subscriber of this.#everyone()) subscriber.onStale(error);
  }

  #fail(error: StoreError): void {
    for (const subscriber of this.#everyone()) subscriber.onFailed(error);
  }

  #everyone(): readonly Subscriber[] {
    return [...this.#subscribers.keys(), ...this.#newcomers];
  }
}
