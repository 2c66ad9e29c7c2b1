/** Sees who leads, without taking part: no lease, no campaign, one watch. */

import { checkSignal, type SignalOptions } from '../async/abort.ts';
import { keepAlive } from '../async/sleep.ts';
import { ValueStream } from '../async/value-stream.ts';
import { type Cancel, type Clock, systemClock } from '../base/clock.ts';
import { IncumbentError, isIncumbentError, isRetryable } from '../base/errors.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { checkLogger, type Logger, Telemetry } from '../base/telemetry.ts';
import { checkFunction, checkKnown, checkName, checkNumber } from '../base/validate.ts';
import { electionKeys, type ElectionKeys } from '../protocol/keys.ts';
import { readLeader } from '../protocol/record.ts';
import { payloadCodec, type PayloadCodec, type ValueOptions } from '../protocol/value-codec.ts';
import { checkStore } from '../store/checks.ts';
import type { CallOptions, Entry, Store } from '../store/contract.ts';
import type { LeaderState, VacantView } from './leader-state.ts';
import { subscribe } from './shared-watch.ts';

export interface ObserverOptions<V> extends ValueOptions<V> {
  /** The most that one read may take, in ms. From 10 to 60,000. Default 2,500. */
  readonly callTimeoutMs?: number;
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Somebody leads, as far as the store has told. */
export interface LeaderView<V> {
  readonly state: 'leader';
  readonly term: bigint;
  readonly memberId: string;
  readonly incarnation: string;
  /** What it publishes. */
  readonly value: V | undefined;
  /**
   * Only where the term is lower than one shown before: the store itself has gone back, confirmed
   * by a linearizable read.
   */
  readonly reason?: 'termReset';
}

/** Somebody in the queue. */
export interface CandidateView<V> {
  readonly memberId: string;
  readonly incarnation: string;
  /** What the succession ranks by; empty for most. */
  readonly rank: string;
  /** What it would publish. */
  readonly value: V | undefined;
  readonly leads: boolean;
}

type Known<V> = LeaderView<V> | VacantView;

export interface UnknownView<V> {
  readonly state: 'unknown';
  /** Since when nothing has been confirmed, in ms since the epoch. */
  readonly since: number;
  readonly cause?: unknown;
  /** What was known before. */
  readonly last?: Known<V>;
}

export type ElectionView<V> = LeaderView<V> | VacantView | UnknownView<V>;

/**
 * Watches one election. What it shows lags behind the store and is never proof of leadership; it
 * shows the latest state, not every one, and never an older term after a newer one. It begins to
 * watch when it is first asked for anything, and does not keep the process alive, but while `views`
 * is read. Observers of one election through one open store, of one `clock` and `callTimeoutMs`,
 * share one watch, and each is told nothing older than its beginning.
 */
export class ElectionObserver<V = unknown> {
  readonly name: string;
  readonly #store: Store;
  readonly #keys: ElectionKeys;
  readonly #codec: PayloadCodec<V>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #telemetry: Telemetry;
  readonly #callTimeoutMs: number;
  readonly #views: ValueStream<ElectionView<V>>;
  readonly #ready = Promise.withResolvers<void>();
  #closed = false;
  #leave: (() => Promise<void>) | undefined;
  #known: Known<V> | undefined;

  constructor(store: Store, name: string, options: ObserverOptions<V> = {}) {
    checkKnown('observer', options, ['callTimeoutMs', 'logger', 'clock', 'random', 'parse', 'codec']);
    this.name = checkName('election', name);
    this.#store = store;
    this.#keys = electionKeys(name);
    this.#codec = payloadCodec(options);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#callTimeoutMs = checkNumber('callTimeoutMs', options.callTimeoutMs, 2_500, { min: 10, max: 60_000 });
    checkStore(store);
    this.#telemetry = new Telemetry(checkLogger(options.logger), { store: store.name, election: name });
    this.#views = new ValueStream((error) => this.#telemetry.emit('subscriberFailed', { error }));
    this.#views.set({ state: 'unknown', since: this.#clock.wall() });
    this.#ready.promise.catch(() => {});
  }

  /**
   * What is known now; `unknown` before the first answer, and while the store cannot confirm it.
   */
  get current(): ElectionView<V> {
    this.#start();
    return this.#views.value ?? { state: 'unknown', since: this.#clock.wall() };
  }

  /**
   * Resolves when the first state is known. Rejects on what waiting does not mend (no permission,
   * foreign data), and when it is closed before. Keeps the process alive until then.
   */
  get ready(): Promise<void> {
    this.#start();
    return keepAlive(this.#clock, () => this.#ready.promise);
  }

  /**
   * The view now, and the latest after every change. Ends quietly when the signal aborts or the
   * observer closes. Keeps the process alive.
   */
  async *views(options: SignalOptions = {}): AsyncGenerator<ElectionView<V>, void, undefined> {
    const signal = checkSignal(options);
    this.#start();
    const letGo = this.#clock.keepAlive();
    try {
      yield* this.#views.values(signal);
    } finally {
      letGo();
    }
  }

  /**
   * The same as a callback, with the view now first; one that throws harms nobody. Does not keep
   * the process alive.
   */
  subscribe(subscriber: (view: ElectionView<V>) => void): Cancel {
    checkFunction('subscriber', subscriber);
    this.#start();
    return this.#views.subscribe(subscriber);
  }

  /** Asks the store who leads: a linearizable read. Undefined when nobody does. */
  async leader(options: SignalOptions = {}): Promise<LeaderView<V> | undefined> {
    const signal = checkSignal(options);
    const entry = await this.#store.read(this.#keys.leader, signal === undefined ? this.#options() : { ...this.#options(), signal });
    return entry === undefined ? undefined : this.#leaderView(entry);
  }

  /** Ends the watch and every iteration. Idempotent. The store stays open. */
  async close(): Promise<void> {
    const wasOpen = !this.#closed;
    this.#closed = true;
    this.#ready.reject(new IncumbentError('OBSERVER_CLOSED', `the observer of "${this.name}" was closed`));
    this.#views.end();
    await this.#leave?.();
    if (wasOpen && this.#leave !== undefined) this.#telemetry.emit('observed', { state: 'closed' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #start(): void {
    if (this.#closed || this.#leave !== undefined) return;
    this.#telemetry.emit('observed', { state: 'unknown' });
    const context = { store: this.#store, keys: this.#keys, clock: this.#clock, random: this.#random, callTimeoutMs: this.#callTimeoutMs };
    this.#leave = subscribe(context, { changed: (state) => this.#see(state), stale: (cause) => this.#lose(cause) });
    // Whoever is told at once may have closed it.
    if (this.#closed) void this.#leave();
  }

  #options(): CallOptions {
    return { timeoutMs: this.#callTimeoutMs };
  }

  #see(state: LeaderState): void {
    try {
      this.#show(state.state === 'vacant' ? state : this.#leaderView(state.entry, state.reason));
    } catch (error) {
      this.#lose(error);
    }
  }

  #show(view: Known<V>): void {
    this.#known = view;
    this.#views.set(view);
    this.#telemetry.emit('observed', { state: view.state, term: view.term });
    this.#ready.resolve();
  }

  #lose(cause: unknown): void {
    this.#telemetry.emit('watchStale', { cause });
    this.#telemetry.emit('observed', { state: 'unknown', term: this.#known?.term });
    const before = this.#views.value;
    const since = before?.state === 'unknown' ? before.since : this.#clock.wall();
    this.#views.set(this.#known === undefined ? { state: 'unknown', since, cause } : { state: 'unknown', since, cause, last: this.#known });
    if (!isRetryable(cause)) this.#ready.reject(cause);
    if (isIncumbentError(cause, 'STORE_CLOSED')) this.#views.end({ error: cause });
  }

  #leaderView(entry: Entry, reason?: 'termReset'): LeaderView<V> {
    const { term, memberId, incarnation, payload } = readLeader(entry);
    const view = { state: 'leader', term, memberId, incarnation, value: this.#codec.decode(payload) } as const;
    return reason === undefined ? view : { ...view, reason };
  }
}
