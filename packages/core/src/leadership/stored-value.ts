/**
 * A value in the store that a leader reads and changes.
 *
 * A write is one swap of the guard and the revision that was read. If its answer is lost, the same
 * swap is tried again. All these tries expect the same revision, so the store applies at most one
 * of them, and the first answer decides: `swapped`, or the entry that the key has instead. If that
 * entry has the bytes of the write, the lost try was applied. If it has other bytes, another
 * program wrote them, before or after the lost try, and nobody can tell which: `CONFLICT`.
 */

import { checkSignal, orAborted, type SignalOptions, withSignals } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import { isRetryable, outcomeOf, StoreError } from '../base/errors.ts';
import { explainDetached } from '../base/methods.ts';
import { checkFunction, checkKnown } from '../base/validate.ts';
import type { SessionContext } from '../lease/session.ts';
import { decodeStored, sameBytes, type ValueCodec, valueCodec, type ValueOptions } from '../protocol/value-codec.ts';
import { checkNotReserved, checkPath } from '../store/checks.ts';
import type { Change, Entry, Key, SwapResult } from '../store/contract.ts';

/** How often a call is tried if the store fails, or if another program keeps changing the key. */
const MAX_TRIES = 20;
const FIRST_RETRY_MS = 10;

/** The part of a leadership that a stored value needs. */
interface Leader {
  readonly term: bigint;
  readonly signal: AbortSignal;
  assertValid(): void;
  swap(changes: readonly Change[], options: SignalOptions): Promise<SwapResult>;
}

/** Per leadership and key: settles when the last write that was requested is over. */
const lastWrites = new WeakMap<Leader, Map<Key, Promise<void>>>();

/** One call of a user: its signal, and how it is tried again. */
interface Attempts {
  readonly signal: AbortSignal;
  /** Waits before the next try. Throws `error` if there were too many. */
  readonly again: (error: unknown) => Promise<void>;
}

/** The result of a write that the store answered. */
type ReplaceResult =
  | { readonly written: true }
  /**
   * `unknownOutcome`: the error of an earlier try that may have been applied, before another
   * program wrote `current`.
   */
  | { readonly written: false; readonly current: Entry | undefined; readonly unknownOutcome: unknown };

/**
 * A value under a key of the store, which leaders of one election change. Made by
 * `leadership.stored`.
 *
 * - Every write carries the guard: the store rejects it once a newer term has begun.
 * - Writes of this leadership to one key run one after the other. A write retries while the store
 *   fails, and with the new value if another program has changed the key: up to 20 tries.
 * - If the outcome of a try is unknown, the call finds it out: the write has taken place when the
 *   promise resolves. The same bytes, written by another program at that moment, count as this
 *   write.
 * - There is no deletion, because a lost write that created the key could arrive after it and
 *   create the key again. Store a value that means "none", such as `null`.
 *
 * Every method rejects with `LEADERSHIP_ENDED` as soon as the leadership ends, with the reason of
 * its own signal, and with errors of the store. A write that rejects with one of these may have
 * taken place, unless the error has the `outcome` `refused` or `notSent`.
 */
export class StoredValue<T = unknown> {
  readonly key: Key;
  readonly #context: SessionContext;
  readonly #leader: Leader;
  readonly #codec: ValueCodec<T>;

  static {
    explainDetached(StoredValue, 'stored');
  }

  /** @internal */
  constructor(context: SessionContext, leader: Leader, key: Key, options: ValueOptions<T>) {
    this.key = checkPath('key', key);
    checkNotReserved(key);
    checkKnown('stored value', options, ['parse', 'codec']);
    this.#context = context;
    this.#leader = leader;
    this.#codec = valueCodec(options);
  }

  /**
   * Reads the value; undefined if the key does not exist. The read is linearizable if the store is.
   * The leadership is still valid when the value arrives, so no later leader has changed it.
   *
   * @throws `FOREIGN_DATA` for a value that cannot be decoded.
   */
  async get(options: SignalOptions = {}): Promise<T | undefined> {
    return this.#run(options, async (attempts) => {
      const entry = await this.#read(attempts);
      this.#leader.assertValid();
      return this.#decode(entry);
    });
  }

  /**
   * Writes a value over whatever the key holds, even if that cannot be decoded.
   *
   * @throws `CONFLICT` if another program changed the key at each try, or while an answer was lost.
   *   `TOO_LARGE`. `INVALID_OPTION` for a value that JSON cannot hold.
   */
  async put(value: T, options: SignalOptions = {}): Promise<void> {
    const bytes = this.#codec.encode(value);
    await this.#write(async () => bytes, options);
  }

  /**
   * Writes what `change` makes of the present value, which is undefined if the key does not exist.
   * If another program changes the key meanwhile, `change` is called again with the new value, so
   * it must have no side effects, and it must not write to this key itself. Resolves with the value
   * that was written. If `change` returns undefined, nothing is written.
   *
   * @throws What `change` throws. `FOREIGN_DATA` for a present value that cannot be decoded. What
   *   `put` throws.
   */
  update(change: (current: T | undefined) => T | Promise<T>, options?: SignalOptions): Promise<T>;
  update(change: (current: T | undefined) => T | undefined | Promise<T | undefined>, options?: SignalOptions): Promise<T | undefined>;
  async update(
    change: (current: T | undefined) => T | undefined | Promise<T | undefined>,
    options: SignalOptions = {},
  ): Promise<T | undefined> {
    checkFunction('change', change);
    let next: T | undefined;
    await this.#write(async (entry) => {
      next = await change(this.#decode(entry));
      return next === undefined ? undefined : this.#codec.encode(next);
    }, options);
    return next;
  }

  /** Writes what `bytesFor` returns for the present entry. Writes nothing if that is undefined. */
  async #write(bytesFor: (entry: Entry | undefined) => Promise<Uint8Array | undefined>, options: SignalOptions): Promise<void> {
    await this.#run(options, (attempts) =>
      this.#inTurn(attempts.signal, async () => {
        let entry = await this.#read(attempts);
        for (;;) {
          const bytes = await bytesFor(entry);
          if (bytes === undefined) return;
          const result = await this.#replace(entry, bytes, attempts);
          if (result.written) return;
          if (result.unknownOutcome !== undefined) throw this.#conflict(result.unknownOutcome);
          await attempts.again(this.#conflict());
          entry = result.current;
        }
      }),
    );
  }

  /** Tries one swap until the store has answered it. */
  async #replace(entry: Entry | undefined, put: Uint8Array, { signal, again }: Attempts): Promise<ReplaceResult> {
    const change = { key: this.key, expect: entry?.revision ?? null, put };
    let unknownOutcome: unknown;
    for (;;) {
      try {
        const result = await this.#leader.swap([change], { signal });
        if (result.swapped) return { written: true };
        const current = result.failed[0]?.current;
        const isMine = unknownOutcome !== undefined && current !== undefined && sameBytes(current.value, put);
        return isMine ? { written: true } : { written: false, current, unknownOutcome };
      } catch (error) {
        if (outcomeOf(error) === 'unknown') unknownOutcome = error;
        if (!isRetryable(error)) throw unknownOutcome ?? error;
        await again(unknownOutcome ?? error);
      }
    }
  }

  async #read({ signal, again }: Attempts): Promise<Entry | undefined> {
    const { store, timing } = this.#context;
    for (;;) {
      try {
        return await store.read(this.key, { timeoutMs: timing.callTimeoutMs, signal });
      } catch (error) {
        if (!isRetryable(error)) throw error;
        await again(error);
      }
    }
  }

  /** Runs a task until it settles, the leadership ends, or the caller's signal aborts. */
  async #run<R>(options: SignalOptions, task: (attempts: Attempts) => Promise<R>): Promise<R> {
    const caller = checkSignal(options);
    const { clock, random, timing, telemetry } = this.#context;
    this.#leader.assertValid();
    return withSignals([this.#leader.signal, caller], async (signal) => {
      const backoff = new Backoff(random, FIRST_RETRY_MS, timing.retryEveryMs);
      let tries = 0;
      const again = async (error: unknown): Promise<void> => {
        tries += 1;
        if (tries === MAX_TRIES) throw error;
        telemetry.emitOften('retry', { doing: 'storedValue', term: this.#leader.term, key: this.key, error }, clock.monotonic());
        await sleep(clock, backoff.next(), signal);
        signal.throwIfAborted();
      };
      return task({ signal, again });
    });
  }

  /**
   * Runs a write after the earlier writes of this leadership to this key. An aborted write sends
   * nothing more, so the next one does not wait until its `change` settles.
   */
  async #inTurn(signal: AbortSignal, write: () => Promise<void>): Promise<void> {
    const lasts = lastWrites.get(this.#leader) ?? new Map<Key, Promise<void>>();
    lastWrites.set(this.#leader, lasts);
    const before = Promise.resolve(lasts.get(this.key));
    const writing = before.then(write);
    const done = orAborted(writing, signal).catch(() => {});
    const last = Promise.all([before, done]).then(() => {});
    lasts.set(this.key, last);
    void last.then(() => {
      if (lasts.get(this.key) === last) lasts.delete(this.key);
    });
    await writing;
  }

  #decode(entry: Entry | undefined): T | undefined {
    return decodeStored(this.#codec, this.key, entry);
  }

  #conflict(unknownOutcome?: unknown): StoreError {
    const details = { key: this.key };
    if (unknownOutcome === undefined) {
      return new StoreError('CONFLICT', 'refused', `another program changed ${this.key} at each of ${MAX_TRIES} tries to write it`, {
        details,
      });
    }
    const message = `another program changed ${this.key} while the answer to a write was lost: nobody can tell whether the write took place before`;
    return new StoreError('CONFLICT', 'unknown', message, { cause: unknownOutcome, details });
  }
}
