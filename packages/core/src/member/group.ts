/**
 * Members that have joined by a leased key in the store: membership, and the failure detection of
 * the lease.
 */

import { checkSignal, endQuietly, onAbort, orAborted, type SignalOptions, withHandled } from '../async/abort.ts';
import { Backoff, watchBackoff } from '../async/backoff.ts';
import { keepAlive, sleep } from '../async/sleep.ts';
import { explainDetached } from '../base/methods.ts';
import type { Cancel } from '../base/clock.ts';
import { IncumbentError, isIncumbentError, isRetryable, outcomeOf } from '../base/errors.ts';
import { checkKnown } from '../base/validate.ts';
import type { GetSession } from '../lease/session-pool.ts';
import type { LeaseSession } from '../lease/session.ts';
import { groupKey } from '../protocol/keys.ts';
import { writeGroup } from '../protocol/record.ts';
import { checkGroupRecordSize } from '../protocol/record-size.ts';
import { payloadCodec, type PayloadCodec, sameBytes, type ValueOptions } from '../protocol/value-codec.ts';
import { type GroupMember, GroupReader } from '../observer/group-reader.ts';
import type { Key } from '../store/contract.ts';
import { keepWatching, watchContext } from '../store/key-watch.ts';
import type { ElectionContext } from './election.ts';

/** The options of one member's part in a group. */
export interface GroupOptions<V = unknown> extends ValueOptions<V> {
  /**
   * The value that this member shows to the others, until it publishes another one: JSON, unless
   * there is a codec.
   */
  readonly value?: V | undefined;
}

/** One stay in the group, from `join` to `leave`. */
interface Stay {
  /** Aborts when the member leaves. */
  readonly leaving: AbortController;
  /** Resolves when the key is put for the first time. Rejects if the stay ends before that. */
  readonly joined: Promise<void>;
  /**
   * The puts of later calls of `join` and `publish`. The deletion of the key waits for them,
   * because a put after it would create the key again.
   */
  readonly puts: Set<Promise<LeaseSession>>;
}

/** One group, as one member takes part in it. Create it with `member.group(name)`. */
export class Group<V = unknown> {
  /** The name of the group. */
  readonly name: string;
  readonly #context: ElectionContext;
  readonly #getSession: GetSession;
  readonly #key: Key;
  readonly #codec: PayloadCodec<V>;
  /** The record that this member shows once it has joined. */
  #record: Uint8Array;
  readonly #reader: GroupReader<V>;
  /** The present stay. Undefined before `join`, after `leave`, and after a stay that failed. */
  #stay: Stay | undefined;
  /** Resolves when the latest stay is over. The next one starts then. Never rejects. */
  #over: Promise<void> = Promise.resolve();
  /** Settles when the latest put has ended. The next one starts then. Never rejects. */
  #lastPut: Promise<unknown> = Promise.resolve();
  /** The latest session that the key is bound to, or may be after a put of unknown outcome. */
  #holder: LeaseSession | undefined;
  /** True if the store may still apply a put or a removal that nobody awaits. */
  #isUnsure = false;

  static {
    explainDetached(Group, 'group');
  }

  /** @internal */
  constructor(context: ElectionContext, getSession: GetSession, name: string, options: GroupOptions<V>) {
    checkKnown('group', options, ['value', 'parse', 'codec']);
    this.#context = context;
    this.#getSession = getSession;
    this.name = name;
    this.#key = `${groupKey(name)}/${context.self.memberId}`;
    this.#codec = payloadCodec(options);
    this.#record = this.#recordOf(options.value);
    this.#reader = new GroupReader(context, name, this.#codec);
  }

  /**
   * Joins the group. Joins it again after the session has ended, or if somebody deletes the key.
   * Resolves when the others can see the member. If joining again fails with an error that a retry
   * does not solve, such as a missing permission, the event `groupLeft` is emitted. The member goes
   * on trying, at least every 30 s, and emits `groupRejoined` when it is back. Only if another
   * process took its id does it stop trying. Idempotent.
   *
   * @throws The signal's reason. If it aborts during the call, the member still joins, until
   *   `leave` is called. `MEMBER_CLOSED` when the member leaves or closes; a program that does not
   *   await the call then goes on, as this rejection counts as handled. Errors that a retry does
   *   not solve, as for `campaign`.
   */
  join(options: SignalOptions = {}): Promise<void> {
    return this.#untilShown(options, () => this.#ensure());
  }

  /**
   * Shows another value to the others, which see the member in its place as before. Resolves when
   * they can see the value. The member shows the last value that was published, also when it joins
   * again. Before the first `join`, and after `leave`, this only sets the value for the next
   * `join`.
   *
   * @throws As `join`, and `INVALID_OPTION` for a value that cannot be encoded or that is too large
   *   for the store: the member then keeps showing its former value.
   */
  publish(value: V | undefined, options: SignalOptions = {}): Promise<void> {
    return this.#untilShown(options, async () => {
      this.#record = this.#recordOf(value);
      if (this.#stay !== undefined) await this.#ensure();
    });
  }

  /** Runs `show`. Rejects if the signal aborts first, or if the member is closed. */
  #untilShown(options: SignalOptions, show: () => Promise<void>): Promise<void> {
    const showing = async (): Promise<void> => {
      const signal = checkSignal(options);
      if (this.#context.closing.aborted) throw this.#context.closing.reason;
      signal?.throwIfAborted();
      await keepAlive(this.#context.clock, () => orAborted(show(), signal));
    };
    return withHandled(showing(), (error) => isIncumbentError(error, 'MEMBER_CLOSED'));
  }

  /** Joins, or makes sure that the member is still joined and shows its value. */
  async #ensure(): Promise<void> {
    const before = this.#stay;
    const { leaving, joined, puts } = (this.#stay ??= this.#begin());
    await joined;
    if (before === undefined) return;
    leaving.signal.throwIfAborted();
    const put = this.#untilPut(leaving.signal);
    puts.add(put);
    try {
      await put;
    } finally {
      puts.delete(put);
    }
    leaving.signal.throwIfAborted();
  }

  /**
   * Leaves the group. Resolves when the key is deleted or its lease has ended. Keeps the process
   * alive until then. Never rejects.
   */
  async leave(): Promise<void> {
    const stay = this.#stay;
    this.#stay = undefined;
    stay?.leaving.abort(new IncumbentError('MEMBER_CLOSED', `the member has left the group "${this.name}"`));
    await keepAlive(this.#context.clock, () => this.#over);
  }

  /**
   * Reads the members in the order of joining, by a linearizable read. Leaves out records that it
   * cannot read, such as one whose value `parse` refuses, and emits `foreignData` for them: one
   * member must not hide the others.
   *
   * @throws The error of the read, or the signal's reason.
   */
  async members(options: SignalOptions = {}): Promise<readonly GroupMember<V>[]> {
    return this.#reader.read(options);
  }

  /**
   * Yields the present members, then the latest ones after every change. Leaves out records that it
   * cannot read, and emits `foreignData` for them. Ends without an error when the signal aborts or
   * the member closes. Keeps the process alive while it is read.
   *
   * @throws `STORE_CLOSED` when the store was closed.
   */
  views(options: SignalOptions = {}): AsyncGenerator<readonly GroupMember<V>[], void, undefined> {
    return this.#reader.views(options);
  }

  /**
   * Calls the subscriber with the present members, then with the members after every change. An
   * error that it throws goes to the event `subscriberFailed`. Does not keep the process alive. The
   * returned function ends the subscription.
   */
  subscribe(subscriber: (members: readonly GroupMember<V>[]) => void): Cancel {
    return this.#reader.subscribe(subscriber);
  }

  /**
   * @internal Ends the watch and leaves the group. The member calls this after its leaderships have
   * ended, because their work may be reading the members.
   */
  async close(): Promise<void> {
    this.#reader.close();
    this.#stay?.leaving.abort(this.#context.closing.reason);
    await this.#over;
  }

  /** Begins a stay, when the one before it is over. */
  #begin(): Stay {
    const leaving = new AbortController();
    const puts: Stay['puts'] = new Set();
    const joined = Promise.withResolvers<void>();
    joined.promise.catch(() => {});
    this.#over = this.#over
      .then(() => this.#keepShown(leaving.signal, joined.resolve))
      .catch((error: unknown) => {
        // The next call of `join` starts again.
        if (this.#stay?.joined === joined.promise) this.#stay = undefined;
        joined.reject(error);
      })
      .then(() => this.#withdraw(puts));
    return { leaving, joined: joined.promise, puts };
  }

  /** Puts the key, and puts it again whenever it is gone. Rejects when the member leaves. */
  async #keepShown(leaving: AbortSignal, joined: () => void): Promise<never> {
    for (let put = this.#untilPut(leaving); ; put = this.#untilBack(leaving)) {
      const session = await put;
      leaving.throwIfAborted();
      joined();
      await this.#untilGone(session, leaving);
      leaving.throwIfAborted();
    }
  }

  /** Deletes the key if the store may hold it. */
  async #withdraw(puts: Stay['puts']): Promise<void> {
    await Promise.allSettled(puts);
    const session = this.#holder;
    this.#holder = undefined;
    if (session !== undefined) await this.#untilDeleted(session);
  }

  /** Joins again, also after errors that a retry does not solve: somebody may correct the cause. */
  async #untilBack(leaving: AbortSignal): Promise<LeaseSession> {
    const { clock, random, telemetry } = this.#context;
    const backoff = watchBackoff(random);
    for (let isOut = false; ; isOut = true) {
      try {
        const session = await this.#untilPut(leaving);
        if (isOut && !leaving.aborted) telemetry.emit('groupRejoined', { group: this.name });
        return session;
      } catch (error) {
        if (leaving.aborted || isIncumbentError(error, 'STORE_CLOSED')) throw error;
        if (!isOut) telemetry.emit('groupLeft', { group: this.name, error });
        // A member whose id another process has taken opens no session any more.
        if (isIncumbentError(error, 'DUPLICATE_MEMBER')) throw error;
        await sleep(clock, backoff.next(), leaving);
        leaving.throwIfAborted();
      }
    }
  }

  /**
   * Resolves with the session that holds the key. If the member leaves first, the key may be there
   * or not.
   */
  async #untilPut(leaving: AbortSignal): Promise<LeaseSession> {
    const { clock, random, timing, telemetry } = this.#context;
    const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs / 2);
    for (;;) {
      const session = await this.#getSession(leaving);
      try {
        await this.#put(session, leaving);
        return session;
      } catch (error) {
        session.callFailed(error);
        if (!isRetryable(error)) throw error;
        if (session.ended === undefined)
          telemetry.emitOften('retry', { doing: 'joiningGroup', group: this.name, error }, clock.monotonic());
        await sleep(clock, backoff.next(), leaving);
        if (leaving.aborted) return session;
      }
    }
  }

  /**
   * The record of this member with this value.
   *
   * @throws `INVALID_OPTION` if the value cannot be encoded, or if the record is too large for the
   *   store.
   */
  #recordOf(value: V | undefined): Uint8Array {
    const { store, self } = this.#context;
    const payload = this.#codec.encode(value);
    checkGroupRecordSize(store, self, payload);
    return writeGroup({ ...self, payload });
  }

  /**
   * Puts the key after the earlier puts, unless the member leaves meanwhile. Otherwise this put
   * could read the last value just before the store applies an earlier put of another value.
   */
  async #put(session: LeaseSession, leaving: AbortSignal): Promise<void> {
    const put = this.#lastPut.then(() => (leaving.aborted ? undefined : this.#putNow(session)));
    this.#lastPut = put.catch(() => {});
    return put;
  }

  async #putNow(session: LeaseSession): Promise<void> {
    try {
      await this.#untilShows(session);
      this.#holder = session;
    } catch (error) {
      if (outcomeOf(error) === 'unknown') {
        this.#holder = session;
        this.#isUnsure = true;
      }
      throw error;
    }
  }

  /**
   * Creates the key, or replaces it, unless it shows the last value. Only this process, or an
   * earlier process with the same member id, can have created a key of this name. A key that a
   * removal may still find is written anew, so that the store refuses the removal.
   */
  async #untilShows(session: LeaseSession): Promise<void> {
    const { store } = this.#context;
    for (;;) {
      const current = await store.read(this.#key, session.call);
      // Another call may have published a value since the last try.
      const put = this.#record;
      const isShown = current?.lease === session.lease && sameBytes(current.value, put);
      if (isShown && !this.#isUnsure) return;
      const change = { key: this.#key, expect: current?.revision ?? null, put, lease: session.lease };
      const result = await store.compareAndSwap([change], session.call);
      if (result.swapped) return;
    }
  }

  /** Resolves when the key is no longer bound to this session, or the member leaves. */
  async #untilGone(session: LeaseSession, leaving: AbortSignal): Promise<void> {
    const over = Promise.withResolvers<void>();
    const ended = new AbortController();
    const stops = [session.onEnd(() => over.resolve()), onAbort(leaving, () => over.resolve()), () => endQuietly(ended)];
    keepWatching(watchContext(this.#context), this.#key, ended.signal, (own) =>
      own?.lease === session.lease ? undefined : over.resolve(),
    );
    await over.promise;
    for (const stop of stops) stop();
  }

  /** Deletes the key, and again if the store applies a put of unknown outcome later. */
  async #untilDeleted(session: LeaseSession): Promise<void> {
    const { clock, random, timing, telemetry, orphanCleaner } = this.#context;
    const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs / 2);
    while (session.isValid()) {
      try {
        await this.#deleteKey(session);
        break;
      } catch (error) {
        this.#isUnsure = true;
        if (session.ended === undefined)
          telemetry.emitOften('retry', { doing: 'leavingGroup', group: this.name, error }, clock.monotonic());
        if (!isRetryable(error)) break;
        await sleep(clock, backoff.next(), session.call.signal);
      }
    }
    if (this.#isUnsure)
      orphanCleaner.schedule(this.#key, session, async (live) => (this.#stay === undefined ? this.#deleteKey(live) : undefined));
  }

  async #deleteKey({ lease, call }: LeaseSession): Promise<void> {
    const { store } = this.#context;
    const entry = await store.read(this.#key, call);
    if (entry === undefined || entry.lease !== lease) return;
    await store.compareAndSwap([{ key: this.#key, expect: entry.revision, delete: true }], call);
  }
}
