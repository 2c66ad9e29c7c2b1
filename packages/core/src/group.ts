/** Members that have joined by a leased key on the store: membership, and the detection of failure that comes with the lease. */

import { Backoff } from './backoff.ts';
import type { Cancel } from './clock.ts';
import { payloadCodec, type PayloadCodec, type ValueOptions } from './codec.ts';
import type { ElectionContext } from './election.ts';
import { IncumbentError, isPassing } from './errors.ts';
import { groupKey } from './keys.ts';
import { Latest } from './latest.ts';
import { checkFunction, checkKnown, checkSignal } from './options.ts';
import { readGroup, writeGroup } from './record.ts';
import type { Session } from './session.ts';
import { onAbort, orAborted } from './signals.ts';
import type { CallOptions, Entry, Key } from './store.ts';
import { follow, held, KeyWatch, sleep } from './waits.ts';

export interface GroupOptions<V> extends ValueOptions<V> {
  /** What this member shows to the others: JSON, unless there is a codec. */
  readonly value?: V;
}

export interface GroupMember<V> {
  readonly memberId: string;
  /** Another for every start of the process. */
  readonly incarnation: string;
  readonly value: V | undefined;
}

export interface GroupCallOptions {
  readonly signal?: AbortSignal;
}

interface Joined {
  readonly leave: AbortController;
  readonly first: Promise<void>;
  readonly over: Promise<void>;
}

/** Made by `member.group(name)`. */
export class Group<V = unknown> {
  readonly name: string;
  readonly #context: ElectionContext;
  readonly #prefix: Key;
  readonly #codec: PayloadCodec<V>;
  readonly #value: V | undefined;
  readonly #views: Latest<readonly GroupMember<V>[]>;
  #watching: AbortController | undefined;
  #joined: Joined | undefined;

  /** @internal */
  constructor(context: ElectionContext, name: string, options: GroupOptions<V>) {
    checkKnown('group', options, ['value', 'parse', 'codec']);
    this.#context = context;
    this.name = name;
    this.#prefix = groupKey(name);
    this.#codec = payloadCodec(options);
    this.#value = options.value;
    this.#codec.encode(options.value);
    this.#views = new Latest((error) => context.telemetry.emit('subscriberFailed', { group: name, error }));
    onAbort(context.closing, () => this.#close());
  }

  /**
   * Joins, and stays: after a lost session, or when somebody deletes its key, the member joins again by itself. Resolves when the others can see it.
   * Rejects as a campaign does. Joining twice is joining once.
   */
  async join(options: GroupCallOptions = {}): Promise<void> {
    const signal = checkSignal('signal', options.signal);
    if (this.#context.closing.aborted) throw this.#context.closing.reason;
    const joined = (this.#joined ??= this.#join());
    await held(this.#context.clock, () => orAborted(joined.first, signal));
  }

  /** Leaves; the others see it at once. */
  async leave(): Promise<void> {
    const joined = this.#joined;
    this.#joined = undefined;
    joined?.leave.abort(new IncumbentError('MEMBER_CLOSED', `the member has left the group "${this.name}"`));
    await joined?.over;
  }

  /** Who is in it now, in the order of joining: a linearizable read. */
  async members(options: GroupCallOptions = {}): Promise<readonly GroupMember<V>[]> {
    const signal = checkSignal('signal', options.signal);
    return this.#read(await this.#context.store.list(this.#prefix, signal === undefined ? this.#options() : { ...this.#options(), signal }));
  }

  /** Who is in it now, and again after every change; the latest, if the reader is slow. Keeps the process alive while it is read. */
  async *views(options: GroupCallOptions = {}): AsyncGenerator<readonly GroupMember<V>[], void, undefined> {
    const signal = checkSignal('signal', options.signal);
    const letGo = this.#context.clock.hold();
    this.#watch();
    try {
      yield* this.#views.values(signal);
    } finally {
      letGo();
    }
  }

  /** The same as a callback; one that throws harms nobody. Does not keep the process alive. */
  subscribe(subscriber: (members: readonly GroupMember<V>[]) => void): Cancel {
    checkFunction('subscriber', subscriber);
    this.#watch();
    return this.#views.subscribe(subscriber);
  }

  /** @internal Resolves when nothing of the joining is under way. */
  async settled(): Promise<void> {
    await this.#joined?.over;
  }

  #options(): CallOptions {
    return { timeoutMs: this.#context.timing.callTimeoutMs };
  }

  #close(): void {
    this.#watching?.abort();
    this.#views.end();
    this.#joined?.leave.abort(this.#context.closing.reason);
  }

  #read(entries: readonly Entry[]): readonly GroupMember<V>[] {
    return entries.map((entry) => {
      const { memberId, incarnation, payload } = readGroup(entry);
      return { memberId, incarnation, value: this.#codec.decode(payload) };
    });
  }

  #watch(): void {
    if (this.#watching !== undefined || this.#context.closing.aborted) return;
    const watching = new AbortController();
    this.#watching = watching;
    const fail = (error: unknown): void => {
      this.#context.telemetry.emit('foreignData', { group: this.name, error });
      this.#views.end({ error });
    };
    void follow(this.#context.store.watchList(this.#prefix, { signal: watching.signal }), (entries) => this.#views.set(this.#read(entries)), fail);
  }

  #join(): Joined {
    const leave = new AbortController();
    const first = Promise.withResolvers<void>();
    first.promise.catch(() => {});
    const over = this.#stay(leave.signal, first).catch(first.reject);
    return { leave, first: first.promise, over };
  }

  /** Until it leaves: puts its key, and puts it again whenever it has gone. */
  async #stay(leave: AbortSignal, first: PromiseWithResolvers<void>): Promise<void> {
    const { clock, random, timing, telemetry } = this.#context;
    const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs / 2);
    while (!leave.aborted) {
      const { session } = await this.#context.session(leave);
      try {
        const entry = await this.#put(session);
        first.resolve();
        backoff.reset();
        await this.#untilGone(entry.key, session, leave);
      } catch (error) {
        session.note(error);
        if (!isPassing(error)) throw error;
        telemetry.emit('retry', { doing: 'joining a group', group: this.name, error });
        await sleep(clock, backoff.next(), leave);
      }
      if (leave.aborted) await this.#remove(session);
    }
    first.reject(leave.reason);
  }

  /** The member's key is exclusive, so whatever stands under its name in the group is its own, or its former self's. */
  async #put(session: Session): Promise<{ readonly key: Key }> {
    const { store, self } = this.#context;
    const key = `${this.#prefix}/${self.memberId}`;
    const put = writeGroup({ ...self, payload: this.#codec.encode(this.#value) });
    for (;;) {
      const current = await store.read(key, this.#options());
      const change = { key, expect: current?.revision ?? null, put, lease: session.lease };
      const result = await store.compareAndSwap([change], this.#options());
      if (result.swapped) return { key };
    }
  }

  async #untilGone(key: Key, session: Session, leave: AbortSignal): Promise<void> {
    const over = Promise.withResolvers<void>();
    const own = new KeyWatch(this.#context.store, key);
    const stops = [session.onEnd(() => over.resolve()), onAbort(leave, () => over.resolve()), () => own.stop()];
    own.onNews(() => {
      const news = own.take();
      if (own.failure !== undefined) over.reject(own.failure.error);
      else if (news !== undefined && news.entry?.lease !== session.lease) over.resolve();
    });
    try {
      await over.promise;
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #remove(session: Session): Promise<void> {
    const { store, self, telemetry } = this.#context;
    const key = `${this.#prefix}/${self.memberId}`;
    try {
      const entry = await store.read(key, this.#options());
      if (entry === undefined || entry.lease !== session.lease) return;
      await store.compareAndSwap([{ key, expect: entry.revision, delete: true }], this.#options());
    } catch (error) {
      telemetry.emit('retry', { doing: 'leaving a group', group: this.name, error });
    }
  }
}
