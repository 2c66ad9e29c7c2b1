/** Shows a value of the store to any process, such as one that a leader has stored. */

import { endQuietly, type SignalOptions, withHandled } from '../async/abort.ts';
import { keepAlive, sleep } from '../async/sleep.ts';
import { ValueStream } from '../async/value-stream.ts';
import { type Cancel, checkClock, type Clock, type Moment, momentOf } from '../base/clock.ts';
import { IncumbentError, isIncumbentError, isRetryable, StoreError } from '../base/errors.ts';
import { explainDetached } from '../base/methods.ts';
import { checkRandom, fraction, type Random } from '../base/random.ts';
import { checkLogger, type Logger, Telemetry } from '../base/telemetry.ts';
import { checkFunction, checkKnown, checkNumber } from '../base/validate.ts';
import { Deadline } from '../lease/deadline.ts';
import { decodeStored, sameBytes, type ValueCodec, valueCodec, type ValueOptions } from '../protocol/value-codec.ts';
import { checkNotReserved, checkPath, checkStore, storeFields } from '../store/checks.ts';
import type { Entry, Key, Store } from '../store/contract.ts';
import { keepWatching } from '../store/key-watch.ts';

/** How often the value is read in `maxAgeMs`. One read may time out before the value is too old. */
const READS_PER_AGE = 4;
/** The longest random part by which the next read comes earlier: many do not read together. */
const SPREAD = 0.25;

/** The options of a {@link StoredValueObserver}. */
export interface StoredValueObserverOptions<T = unknown> extends ValueOptions<T> {
  /**
   * The value counts as unknown once the store has not confirmed it for this long, in ms. The
   * observer reads it about four times in this time. From 100 to 600,000. Default 5,000.
   */
  readonly maxAgeMs?: number | undefined;
  /** Gets the observer's events. Default none. */
  readonly logger?: Logger | undefined;
  /** For tests and simulation. Default `systemClock`. */
  readonly clock?: Clock | undefined;
  /** For tests and simulation. Default `systemRandom`. */
  readonly random?: Random | undefined;
}

/** A value that the store had at some moment within the last `maxAgeMs`. */
export interface KnownValueView<T = unknown> {
  readonly state: 'known';
  /** Undefined if the key does not exist. */
  readonly value: T | undefined;
}

/** The store has confirmed no value within the last `maxAgeMs`. */
export interface UnknownValueView<T = unknown> {
  readonly state: 'unknown';
  /** When the last value became too old, in ms since the epoch. */
  readonly since: number;
  /**
   * Why. Absent before the store's first answer. A later error is shown only if it has another
   * code.
   */
  readonly cause?: unknown;
  /** The last confirmed view, if there was one. */
  readonly last?: KnownValueView<T>;
}

/** What an observer knows about a value. Distinguish the views by `state`. */
export type StoredValueView<T = unknown> = KnownValueView<T> | UnknownValueView<T>;

/**
 * Observes one value that a leader stores. Any process may do so, without a lease or a campaign: a
 * worker that follows its assignment, for instance.
 *
 * While `current` says `known`, the store has had that value within the last `maxAgeMs`, by both
 * clocks of this process, also right after a pause of the process. So a worker that checks it
 * before each step stops within that time after the store became unreachable. If the store is not
 * linearizable, a failover of its servers may show an older value.
 *
 * A watch tells of changes, and makes the observer read at once. It also reads four times in
 * `maxAgeMs`, so a watch that has gone silent delays a change by no more than that. It may skip
 * values, and always shows the latest one.
 *
 * The first call of a method or getter starts the observer. Only `views` and `ready` keep the
 * process alive.
 */
export class StoredValueObserver<T = unknown> {
  readonly key: Key;
  readonly #store: Store;
  readonly #codec: ValueCodec<T>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #telemetry: Telemetry;
  readonly #maxAgeMs: number;
  readonly #views: ValueStream<StoredValueView<T>>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #closed = new AbortController();
  /** Passes when the last confirmed value is too old. */
  readonly #deadline: Deadline;
  #view: StoredValueView<T>;
  /** What the last successful read has shown. */
  #last: { readonly entry: Entry | undefined; readonly view: KnownValueView<T> } | undefined;
  /** The error of the last read, unless it succeeded. */
  #error: unknown;
  #cancelExpiry: Cancel = () => {};
  #running: Promise<void> | undefined;
  /** Aborts when it is time for another read. */
  #due = new AbortController();

  static {
    explainDetached(StoredValueObserver, 'observer');
  }

  /**
   * Does no I/O yet.
   *
   * @throws `INVALID_OPTION`, also for a key of the SDK.
   */
  constructor(store: Store, key: Key, options: StoredValueObserverOptions<T> = {}) {
    checkKnown('observer', options, ['maxAgeMs', 'logger', 'clock', 'random', 'parse', 'codec']);
    this.key = checkPath('key', key);
    checkNotReserved(key);
    checkStore(store);
    this.#store = store;
    this.#codec = valueCodec(options);
    this.#clock = checkClock(options.clock);
    this.#random = checkRandom(options.random);
    this.#maxAgeMs = checkNumber('maxAgeMs', options.maxAgeMs, 5_000, { min: 100, max: 600_000 });
    this.#telemetry = new Telemetry(checkLogger(options.logger), { ...storeFields(store), key });
    this.#deadline = new Deadline(this.#clock, momentOf(this.#clock), 0);
    this.#views = new ValueStream((error) => this.#telemetry.emit('subscriberFailed', { error }));
    this.#view = { state: 'unknown', since: this.#clock.wall() };
    this.#views.set(this.#view);
    this.#ready.promise.catch(() => {});
  }

  /**
   * The present view. `unknown` before the store's first answer, once the last confirmed value is
   * older than `maxAgeMs`, and after `close`.
   */
  get current(): StoredValueView<T> {
    this.#start();
    this.#expireIfDue();
    return this.#view;
  }

  /**
   * Resolves when the value is known for the first time. Keeps the process alive until then.
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
  views(options: SignalOptions = {}): AsyncGenerator<StoredValueView<T>, void, undefined> {
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
  subscribe(subscriber: (view: StoredValueView<T>) => void): Cancel {
    checkFunction('subscriber', subscriber);
    this.#start();
    return this.#views.subscribe(subscriber);
  }

  /** Ends every iteration. Idempotent. The store stays open. */
  async close(): Promise<void> {
    if (!this.#closed.signal.aborted) this.#end(new IncumbentError('OBSERVER_CLOSED', `the observer of "${this.key}" was closed`));
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #start(): void {
    if (!this.#closed.signal.aborted) this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    const everyMs = this.#maxAgeMs / READS_PER_AGE;
    const context = { store: this.#store, clock: this.#clock, telemetry: this.#telemetry, retryMs: everyMs };
    keepWatching(context, this.key, signal, (entry) => this.#seeChange(entry));
    while (!signal.aborted) {
      this.#due = new AbortController();
      await this.#read(everyMs, signal);
      if (!signal.aborted) await sleep(this.#clock, everyMs * (1 - SPREAD * fraction(this.#random)), this.#due.signal);
    }
  }

  /** The watch may lag or fall silent, so its events say no more than that a read is due. */
  #seeChange(entry: Entry | undefined): void {
    if (this.#last === undefined || !isSameValue(entry, this.#last.entry)) endQuietly(this.#due);
  }

  async #read(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const asked = this.#deadline.readClocks();
    try {
      const entry = await this.#store.read(this.key, { timeoutMs, signal });
      if (!signal.aborted) this.#confirm(asked, entry);
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
  }

  /** `asked`: when the read began, which is the last moment for which it vouches. */
  #confirm(asked: Moment, entry: Entry | undefined): void {
    const last = this.#last;
    const isSame = last !== undefined && isSameValue(entry, last.entry);
    const view = isSame ? last.view : { state: 'known' as const, value: decodeStored(this.#codec, this.key, entry) };
    this.#last = { entry, view };
    this.#error = undefined;
    this.#deadline.moveTo(asked, this.#maxAgeMs);
    this.#expireLater();
    if (this.#view !== view) this.#show(view);
    this.#ready.resolve();
  }

  #failed(error: unknown): void {
    if (isIncumbentError(error, 'STORE_CLOSED')) return this.#end(error);
    this.#error = error;
    this.#telemetry.emitOften('retry', { doing: 'observingValue', error }, this.#clock.monotonic());
    if (isRetryable(error) && this.#view.state === 'known') return this.#expireIfDue();
    if (!isRetryable(error)) this.#ready.reject(error);
    this.#lose(error);
  }

  #expireLater(): void {
    this.#cancelExpiry();
    this.#cancelExpiry = this.#clock.schedule(this.#deadline.remainingMs(), () => this.#expireIfDue());
  }

  #expireIfDue(): void {
    if (this.#view.state === 'unknown') return;
    if (this.#deadline.remainingMs() > 0) return this.#expireLater();
    this.#lose(this.#error ?? new StoreError('TIMEOUT', 'unknown', `no read has confirmed "${this.key}" for ${this.#maxAgeMs} ms`));
  }

  /** Nothing confirms the last value any more. Keeps the first of several causes with one code. */
  #lose(cause: unknown): void {
    const before = this.#view;
    this.#cancelExpiry();
    if (before.state === 'unknown' && before.cause !== undefined && codeOf(before.cause) === codeOf(cause)) return;
    const since = before.state === 'unknown' ? before.since : this.#clock.wall();
    this.#show({ state: 'unknown', since, cause, ...(this.#last === undefined ? {} : { last: this.#last.view }) });
  }

  #show(view: StoredValueView<T>): void {
    this.#view = view;
    this.#views.set(view);
  }

  #end(cause: IncumbentError): void {
    this.#lose(cause);
    this.#ready.reject(cause);
    this.#views.end(cause.code === 'STORE_CLOSED' ? { error: cause } : undefined);
    this.#closed.abort();
    endQuietly(this.#due);
  }
}

function codeOf(error: unknown): string | undefined {
  return isIncumbentError(error) ? error.code : undefined;
}

/** Compares the values, as a key that was created again may have an earlier revision. */
function isSameValue(a: Entry | undefined, b: Entry | undefined): boolean {
  return a === undefined || b === undefined ? a === b : sameBytes(a.value, b.value);
}
