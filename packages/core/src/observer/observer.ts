/** Observes who leads an election, without a lease or a campaign. */

import { checkSignal, type SignalOptions, withHandled } from '../async/abort.ts';
import { keepAlive } from '../async/sleep.ts';
import { ValueStream } from '../async/value-stream.ts';
import { type Cancel, checkClock, type Clock } from '../base/clock.ts';
import { IncumbentError, isIncumbentError, isRetryable } from '../base/errors.ts';
import { withJson } from '../base/json.ts';
import { explainDetached } from '../base/methods.ts';
import { checkRandom, type Random } from '../base/random.ts';
import { checkLogger, type Logger, Telemetry } from '../base/telemetry.ts';
import { checkFunction, checkKnown, checkName } from '../base/validate.ts';
import { electionKeys, type ElectionKeys } from '../protocol/keys.ts';
import { holderOf, readLeader, type TermRecord } from '../protocol/record.ts';
import type { QueueEntry } from '../protocol/succession.ts';
import { payloadCodec, type PayloadCodec, type ValueOptions } from '../protocol/value-codec.ts';
import { checkCallTimeout, checkStore, storeFields } from '../store/checks.ts';
import type { Entry, Store } from '../store/contract.ts';
import { type KnownLeader, leaderIn, type LeaderState, type PreviousTerm, type VacantView } from './leader-state.ts';
import { subscribe } from './shared-watch.ts';

/** The options of an {@link ElectionObserver}. */
export interface ObserverOptions<V = unknown> extends ValueOptions<V> {
  /** The most that one read may take, in ms. From 10 to 60,000. Default 2,500. */
  readonly callTimeoutMs?: number | undefined;
  /** Gets the observer's events. Default none. */
  readonly logger?: Logger | undefined;
  /** For tests and simulation. Default `systemClock`. */
  readonly clock?: Clock | undefined;
  /** For tests and simulation. Default `systemRandom`. */
  readonly random?: Random | undefined;
}

/** A view of an election that a member leads, as the store last showed it. */
export interface LeaderView<V = unknown> {
  readonly state: 'leader';
  readonly term: bigint;
  readonly memberId: string;
  /** Different for every start of the member's process. */
  readonly incarnation: string;
  /** The value that the leader publishes. Undefined if it publishes none. */
  readonly value: V | undefined;
  /**
   * How the term before ended. It is read from the leader's record, so an observer that joins late,
   * or that has missed terms, shows it as well. Absent for the first term, and if an earlier
   * version of the SDK, which writes no such field, has elected the leader or published its value.
   */
  readonly previous?: PreviousTerm;
  /**
   * Present only if the term is lower than one shown before. A linearizable read has confirmed that
   * the store has lost terms.
   */
  readonly reason?: 'termReset';
}

/** One candidate of an election, or its leader. */
export interface CandidateView<V = unknown> {
  readonly memberId: string;
  /** Different for every start of the member's process. */
  readonly incarnation: string;
  /** The result of `Succession.rank`. Empty for an order without ranks. */
  readonly rank: string;
  /** The value that the candidate will publish if it is elected. */
  readonly value: V | undefined;
  /** True for the leader. */
  readonly leads: boolean;
}

/** The views of a queue that is in the order of succession, the leader's first. */
export function candidateViews<V>(
  queue: readonly QueueEntry[],
  term: TermRecord | undefined,
  valueOf: (entry: Entry) => V | undefined,
): readonly CandidateView<V>[] {
  const holder = holderOf(term);
  const views = queue.map(({ entry, memberId, incarnation, rank }) => {
    return { memberId, incarnation, rank, value: valueOf(entry), leads: entry.key === holder };
  });
  return views.toSorted((a, b) => Number(b.leads) - Number(a.leads));
}

type Known<V> = LeaderView<V> | VacantView;

/** A view of an election whose state cannot be confirmed at present. */
export interface UnknownView<V = unknown> {
  readonly state: 'unknown';
  /** When the last state could no longer be confirmed, in ms since the epoch. */
  readonly since: number;
  /** Why. Absent before the first answer of the store. */
  readonly cause?: unknown;
  /** The last confirmed view, if there was one. */
  readonly last?: Known<V>;
}

/** What an observer knows about an election. Distinguish the views by `state`. */
export type ElectionView<V = unknown> = LeaderView<V> | VacantView | UnknownView<V>;

/**
 * Watches one election. A view lags behind the store, so it never proves that a member leads. An
 * observer may skip states, but always shows the latest one. It never shows an older term after a
 * newer one (unless the store itself has lost terms: `termReset`), nor an older value of a term
 * after a newer one (unless the store has lost writes).
 *
 * The first call of a method or getter starts the watch. Only `views` and `ready` keep the process
 * alive. Observers with the same store, election, `clock` and `callTimeoutMs` share one watch.
 */
export class ElectionObserver<V = unknown> {
  /** The name of the election. */
  readonly name: string;
  readonly #store: Store;
  readonly #keys: ElectionKeys;
  readonly #codec: PayloadCodec<V>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #telemetry: Telemetry;
  readonly #callTimeoutMs: number;
  #views: ValueStream<ElectionView<V>>;
  readonly #ready = Promise.withResolvers<void>();
  #closed = false;
  #leave: (() => Promise<void>) | undefined;
  #known: Known<V> | undefined;

  static {
    explainDetached(ElectionObserver, 'observer');
  }

  /**
   * Does no I/O yet.
   *
   * @throws `INVALID_NAME` or `INVALID_OPTION`.
   */
  constructor(store: Store, name: string, options: ObserverOptions<V> = {}) {
    checkKnown('observer', options, ['callTimeoutMs', 'logger', 'clock', 'random', 'parse', 'codec']);
    this.name = checkName('election', name);
    this.#store = store;
    this.#keys = electionKeys(name);
    this.#codec = payloadCodec(options);
    this.#clock = checkClock(options.clock);
    this.#random = checkRandom(options.random);
    this.#callTimeoutMs = checkCallTimeout(options.callTimeoutMs);
    checkStore(store);
    this.#telemetry = new Telemetry(checkLogger(options.logger), { ...storeFields(store), election: name });
    this.#views = this.#showing({ state: 'unknown', since: this.#clock.wall() });
    this.#ready.promise.catch(() => {});
  }

  /**
   * The present view. `unknown` before the store's first answer, while the store cannot confirm the
   * last state, and after `close`.
   */
  get current(): ElectionView<V> {
    this.#start();
    return this.#views.value ?? { state: 'unknown', since: this.#clock.wall() };
  }

  /**
   * Resolves when the first state is known. Keeps the process alive until then.
   *
   * @throws Errors that a retry does not solve, such as `PERMISSION_DENIED` or `FOREIGN_DATA`.
   *   `OBSERVER_CLOSED` if the observer is closed first; a program that does not await `ready` then
   *   goes on, as this rejection counts as handled.
   */
  get ready(): Promise<void> {
    this.#start();
    const ready = keepAlive(this.#clock, () => this.#ready.promise);
    return withHandled(ready, (error) => isIncumbentError(error, 'OBSERVER_CLOSED'));
  }

  /**
   * Yields the present view, then the latest view after every change. Ends without an error when
   * the signal aborts or the observer closes. Keeps the process alive.
   *
   * @throws `STORE_CLOSED` when the store was closed.
   */
  views(options: SignalOptions = {}): AsyncGenerator<ElectionView<V>, void, undefined> {
    return this.#views.iterate(options, () => {
      this.#start();
      return this.#clock.keepAlive();
    });
  }

  /**
   * Calls the subscriber with the present view, then with the view after every change. An error
   * that it throws goes to the event `subscriberFailed`. Does not keep the process alive. The
   * returned function ends the subscription.
   */
  subscribe(subscriber: (view: ElectionView<V>) => void): Cancel {
    checkFunction('subscriber', subscriber);
    this.#start();
    return this.#views.subscribe(subscriber);
  }

  /**
   * Reads who leads, by a linearizable read. Undefined if nobody leads.
   *
   * @throws The error of the read, the signal's reason, `FOREIGN_DATA`, or `NEWER_FORMAT`.
   */
  async leader(options: SignalOptions = {}): Promise<LeaderView<V> | undefined> {
    const signal = checkSignal(options);
    const entry = await this.#store.read(this.#keys.leader, { timeoutMs: this.#callTimeoutMs, signal });
    return entry === undefined ? undefined : this.#leaderView(leaderIn(entry));
  }

  /** Ends the watch and every iteration. Idempotent. The store stays open. */
  async close(): Promise<void> {
    const wasOpen = !this.#closed;
    this.#closed = true;
    if (wasOpen) this.#end(new IncumbentError('OBSERVER_CLOSED', `the observer of "${this.name}" was closed`));
    await this.#leave?.();
    if (wasOpen && this.#leave !== undefined) this.#telemetry.emit('observed', { state: 'closed' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #start(): void {
    if (this.#closed || this.#leave !== undefined) return;
    this.#telemetry.emit('observed', { state: 'opened' });
    const context = { store: this.#store, keys: this.#keys, clock: this.#clock, random: this.#random, callTimeoutMs: this.#callTimeoutMs };
    this.#leave = subscribe(context, { changed: (state) => this.#see(state), stale: (cause) => this.#lose(cause) });
    // A subscriber may have closed the observer during this call.
    if (this.#closed) void this.#leave();
  }

  #showing(view: ElectionView<V>): ValueStream<ElectionView<V>> {
    const views = new ValueStream<ElectionView<V>>((error) => this.#telemetry.emit('subscriberFailed', { error }));
    views.set(view);
    return views;
  }

  /** Nobody confirms the last state from now on, and later calls show that. */
  #end(cause: IncumbentError): void {
    this.#ready.reject(cause);
    if (this.#views.ended) return;
    const { value } = this.#views;
    this.#views.clear();
    this.#views.end();
    this.#views = this.#showing(this.#unknown(value, cause));
    this.#views.end();
  }

  #unknown(before: ElectionView<V> | undefined, cause: unknown): UnknownView<V> {
    const since = before?.state === 'unknown' ? before.since : this.#clock.wall();
    return { state: 'unknown', since, cause, ...(this.#known === undefined ? {} : { last: this.#known }) };
  }

  #see(state: LeaderState): void {
    try {
      this.#show(state.state === 'vacant' ? withJson({ ...state }) : this.#leaderView(state));
    } catch (error) {
      this.#lose(error);
    }
  }

  #show(view: Known<V>): void {
    this.#known = view;
    this.#views.set(view);
    const { state, term, reason } = view;
    this.#telemetry.emit('observed', { state, term, reason, ...(state === 'leader' ? { previous: view.previous } : {}) });
    this.#ready.resolve();
  }

  #lose(cause: unknown): void {
    this.#telemetry.emit('watchStale', { cause });
    this.#telemetry.emit('observed', { state: 'unknown', term: this.#known?.term });
    this.#views.set(this.#unknown(this.#views.value, cause));
    if (!isRetryable(cause)) this.#ready.reject(cause);
    if (isIncumbentError(cause, 'STORE_CLOSED')) this.#views.end({ error: cause });
  }

  #leaderView({ entry, term, previous, reason }: KnownLeader): LeaderView<V> {
    const { memberId, incarnation, payload } = readLeader(entry);
    return withJson({
      state: 'leader',
      term,
      memberId,
      incarnation,
      value: this.#codec.decode(payload, entry.key),
      ...(previous === undefined ? {} : { previous }),
      ...(reason === undefined ? {} : { reason }),
    });
  }
}
