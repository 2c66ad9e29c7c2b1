/** Sees who leads, without taking part: no lease, no candidacy, one watch. */

import { Backoff } from './backoff.ts';
import { type Cancel, type Clock, systemClock } from './clock.ts';
import { payloadCodec, type PayloadCodec, type ValueOptions } from './codec.ts';
import { IncumbentError, isIncumbentError, isPassing } from './errors.ts';
import { checkLogger, checkStore } from './dependencies.ts';
import { electionKeys, type ElectionKeys } from './keys.ts';
import { Latest } from './latest.ts';
import { checkFunction, checkKnown, checkName, checkNumber, checkSignal } from './options.ts';
import { type Random, systemRandom } from './random.ts';
import { readLeader, readTerm } from './record.ts';
import { onAbort, orAborted } from './signals.ts';
import type { CallOptions, Entry, Key, Store } from './store.ts';
import { type Logger, Telemetry } from './telemetry.ts';
import { follow, held, sleep } from './waits.ts';

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
  /** Only where the term is lower than one shown before: the store itself has gone back, confirmed by a linearizable read. */
  readonly reason?: 'termReset';
}

/**
 * Why nobody leads. `expired`: the last leader's lease ended, or somebody deleted its record, without a word from it. `neverLed`: no term was issued.
 * The others are as the last leader wrote them; a later version may add some.
 */
export type VacancyReason = 'expired' | 'neverLed' | 'resigned' | 'handover' | 'handoverFailed' | 'memberClosed' | (string & {});

export interface VacantView {
  readonly state: 'vacant';
  /** The last term issued; absent when there was none. */
  readonly term?: bigint;
  readonly reason: VacancyReason;
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

export interface ObserverCallOptions {
  readonly signal?: AbortSignal;
}

/**
 * Watches one election. What it shows lags behind the store and is never proof of leadership; it shows the latest state, not every one, and never an
 * older term after a newer one. It begins to watch when it is first asked for anything, and does not keep the process alive, but while `views` is read.
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
  readonly #views: Latest<ElectionView<V>>;
  readonly #closed = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  #watching: Promise<void> | undefined;
  #known: Known<V> | undefined;
  #highest = 0n;

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
    this.#views = new Latest((error) => this.#telemetry.emit('subscriberFailed', { error }));
    this.#views.set({ state: 'unknown', since: this.#clock.wall() });
    this.#ready.promise.catch(() => {});
  }

  /** What is known now; `unknown` before the first answer, and while the store cannot confirm it. */
  get current(): ElectionView<V> {
    this.#start();
    return this.#views.value ?? { state: 'unknown', since: this.#clock.wall() };
  }

  /**
   * Resolves when the first state is known. Rejects on what waiting does not mend (no permission, foreign data), and when it is closed before.
   * Keeps the process alive until then.
   */
  get ready(): Promise<void> {
    this.#start();
    return held(this.#clock, () => this.#ready.promise);
  }

  /** The view now, and the latest after every change. Ends quietly when the signal aborts or the observer closes. Keeps the process alive. */
  async *views(options: ObserverCallOptions = {}): AsyncGenerator<ElectionView<V>, void, undefined> {
    const signal = checkSignal(options);
    this.#start();
    const letGo = this.#clock.hold();
    try {
      yield* this.#views.values(signal);
    } finally {
      letGo();
    }
  }

  /** The same as a callback, with the view now first; one that throws harms nobody. Does not keep the process alive. */
  subscribe(subscriber: (view: ElectionView<V>) => void): Cancel {
    checkFunction('subscriber', subscriber);
    this.#start();
    return this.#views.subscribe(subscriber);
  }

  /** Asks the store who leads: a linearizable read. Undefined when nobody does. */
  async leader(options: ObserverCallOptions = {}): Promise<LeaderView<V> | undefined> {
    const signal = checkSignal(options);
    const entry = await this.#store.read(this.#keys.leader, signal === undefined ? this.#options() : { ...this.#options(), signal });
    return entry === undefined ? undefined : this.#leaderView(entry);
  }

  /** Ends the watch and every iteration. Idempotent. The store stays open. */
  async close(): Promise<void> {
    const isOpen = !this.#closed.signal.aborted;
    const closed = new IncumbentError('OBSERVER_CLOSED', `the observer of "${this.name}" was closed`);
    this.#ready.reject(closed);
    this.#closed.abort(closed);
    this.#views.end();
    await this.#watching;
    if (isOpen && this.#watching !== undefined) this.#telemetry.emit('observed', { state: 'closed' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #start(): void {
    if (this.#closed.signal.aborted || this.#watching !== undefined) return;
    this.#telemetry.emit('observed', { state: 'unknown' });
    this.#watching = this.#watch();
  }

  #options(): CallOptions {
    return { timeoutMs: this.#callTimeoutMs };
  }

  /** What the store refuses today it may allow tomorrow: the view says why nothing is known, and the watch is tried again. */
  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    const backoff = new Backoff(this.#random, 500, 30_000);
    while (!signal.aborted) {
      try {
        await this.#follow(() => backoff.reset());
      } catch (error) {
        this.#lose(error);
        if (!isPassing(error)) this.#ready.reject(error);
        if (isIncumbentError(error, 'STORE_CLOSED')) return this.#views.end({ error });
      }
      if (!signal.aborted) await sleep(this.#clock, backoff.next(), signal);
    }
  }

  /**
   * Shows every state of the watch until it ends, or a read that one of them asks for fails. A newer state ends the reads for the one before; and so does
   * the watch's going stale: what came of them then would not be known to hold, and the watch tells again when it is back.
   */
  async #follow(onShown: () => void): Promise<void> {
    const over = new AbortController();
    const failed = Promise.withResolvers<never>();
    let look = new AbortController();
    const stop = onAbort(this.#closed.signal, () => over.abort());
    const onStale = (cause: unknown): void => {
      look.abort();
      this.#lose(cause);
    };
    const see = (entry: Entry | undefined): void => {
      look.abort();
      const { signal } = (look = new AbortController());
      const show = (view: Known<V>): void => {
        if (signal.aborted) return;
        this.#show(view);
        onShown();
      };
      this.#see(entry, signal).then(show, (error: unknown) => (signal.aborted ? undefined : failed.reject(error)));
    };
    const watching = follow(this.#store.watch(this.#keys.leader, { signal: over.signal, onStale }), see, failed.reject);
    try {
      await Promise.race([watching, failed.promise]);
    } finally {
      over.abort();
      look.abort();
      stop();
      await watching;
    }
  }

  async #see(entry: Entry | undefined, signal: AbortSignal): Promise<Known<V>> {
    if (entry === undefined) return this.#vacantView(signal);
    const view = this.#leaderView(entry);
    if (view.term >= this.#highest) return view;
    // A watch may repeat a state of before, or the store has gone back.
    const confirmed = await this.#readSurely(this.#keys.leader, signal);
    return confirmed === undefined ? this.#vacantView(signal) : this.#resetIfLower(this.#leaderView(confirmed));
  }

  #show(view: Known<V>): void {
    this.#known = view;
    if (view.term !== undefined) this.#highest = view.term;
    this.#views.set(view);
    this.#telemetry.emit('observed', { state: view.state, term: view.term });
    this.#ready.resolve();
  }

  #lose(cause: unknown): void {
    if (this.#closed.signal.aborted) return;
    this.#telemetry.emit('watchStale', { cause });
    this.#telemetry.emit('observed', { state: 'unknown', term: this.#known?.term });
    const before = this.#views.value;
    const since = before?.state === 'unknown' ? before.since : this.#clock.wall();
    this.#views.set(this.#known === undefined ? { state: 'unknown', since, cause } : { state: 'unknown', since, cause, last: this.#known });
  }

  #leaderView(entry: Entry): LeaderView<V> {
    const { term, memberId, incarnation, payload } = readLeader(entry);
    return { state: 'leader', term, memberId, incarnation, value: this.#codec.decode(payload) };
  }

  #resetIfLower(view: LeaderView<V>): LeaderView<V> {
    return view.term < this.#highest ? { ...view, reason: 'termReset' } : view;
  }

  async #readSurely(key: Key, signal: AbortSignal): Promise<Entry | undefined> {
    return orAborted(this.#store.read(key, { ...this.#options(), signal }), signal);
  }

  /**
   * The leader's key is gone; the term's record tells why, if its holder has said so, and if nobody has followed yet. An end is written as the key goes:
   * read after that, it is there, or there is none. What the watch has told may be a state of before, so only a read tells that the key is gone.
   */
  async #vacantView(signal: AbortSignal): Promise<Known<V>> {
    for (let gone: bigint | undefined; ;) {
      const entry = await this.#readSurely(this.#keys.term, signal);
      if (entry === undefined) return { state: 'vacant', reason: 'neverLed' };
      const { term, ended } = readTerm(entry);
      if (ended !== undefined || term === gone)
        return { state: 'vacant', term, reason: term < this.#highest ? 'termReset' : (ended?.reason ?? 'expired') };
      const leader = await this.#readSurely(this.#keys.leader, signal);
      if (leader !== undefined) return this.#resetIfLower(this.#leaderView(leader));
      gone = term;
    }
  }
}
