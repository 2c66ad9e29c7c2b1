/** The members of a group: read once, or watched. */

import { checkSignal, type SignalOptions } from '../async/abort.ts';
import { watchBackoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import { ValueStream } from '../async/value-stream.ts';
import type { Cancel } from '../base/clock.ts';
import { isIncumbentError } from '../base/errors.ts';
import { checkFunction } from '../base/validate.ts';
import type { SessionContext } from '../lease/session.ts';
import { groupKey } from '../protocol/keys.ts';
import { readGroup } from '../protocol/record.ts';
import type { PayloadCodec } from '../protocol/value-codec.ts';
import type { Entry, Key } from '../store/contract.ts';
import { follow } from '../store/key-watch.ts';

/** A member that has joined a group. */
export interface GroupMember<V = unknown> {
  readonly memberId: string;
  /** Different for every start of the member's process. */
  readonly incarnation: string;
  /** The value that the member shows to the others. Undefined if it shows none. */
  readonly value: V | undefined;
}

/** What a reader needs from the member that reads. */
export interface GroupReaderContext extends Pick<SessionContext, 'store' | 'clock' | 'random' | 'timing' | 'telemetry'> {
  /** Aborts when the member closes. */
  readonly closing: AbortSignal;
}

/** Reads the members of one group. Watches them from the first subscriber on. */
export class GroupReader<V> {
  readonly #context: GroupReaderContext;
  readonly #name: string;
  readonly #prefix: Key;
  readonly #codec: PayloadCodec<V>;
  readonly #views: ValueStream<readonly GroupMember<V>[]>;
  #watching: AbortController | undefined;

  constructor(context: GroupReaderContext, name: string, codec: PayloadCodec<V>) {
    this.#context = context;
    this.#name = name;
    this.#prefix = groupKey(name);
    this.#codec = codec;
    this.#views = new ValueStream((error) => context.telemetry.emit('subscriberFailed', { group: name, error }));
  }

  /** See `Group.members`. */
  async read(options: SignalOptions): Promise<readonly GroupMember<V>[]> {
    const signal = checkSignal(options);
    const timeoutMs = this.#context.timing.callTimeoutMs;
    return this.#readable(await this.#context.store.list(this.#prefix, { timeoutMs, signal }));
  }

  /** See `Group.views`. */
  views(options: SignalOptions): AsyncGenerator<readonly GroupMember<V>[], void, undefined> {
    return this.#views.iterate(options, () => {
      this.#watch();
      return this.#context.clock.keepAlive();
    });
  }

  /** See `Group.subscribe`. */
  subscribe(subscriber: (members: readonly GroupMember<V>[]) => void): Cancel {
    checkFunction('subscriber', subscriber);
    this.#watch();
    return this.#views.subscribe(subscriber);
  }

  /** Ends the watch and all views. */
  close(): void {
    this.#watching?.abort();
    // Nobody confirms the last list from now on.
    this.#views.clear();
    this.#views.end();
  }

  #read(entry: Entry): GroupMember<V> {
    const { memberId, incarnation, payload } = readGroup(entry);
    return { memberId, incarnation, value: this.#codec.decode(payload, entry.key) };
  }

  /** Leaves out records that cannot be read, so that they do not hide the others. */
  #readable(entries: readonly Entry[]): readonly GroupMember<V>[] {
    return entries.flatMap((entry) => {
      try {
        return [this.#read(entry)];
      } catch (error) {
        this.#context.telemetry.emit('foreignData', { group: this.#name, key: entry.key, error });
        return [];
      }
    });
  }

  #watch(): void {
    if (this.#watching !== undefined || this.#context.closing.aborted) return;
    this.#watching = new AbortController();
    void this.#keepWatching(this.#watching.signal);
  }

  async #keepWatching(signal: AbortSignal): Promise<void> {
    const { store, clock, random, telemetry } = this.#context;
    const backoff = watchBackoff(random);
    const see = (entries: readonly Entry[]): void => {
      backoff.reset();
      this.#views.set(this.#readable(entries));
    };
    const fail = (cause: unknown): void => {
      telemetry.emit('watchStale', { group: this.#name, cause });
      if (isIncumbentError(cause, 'STORE_CLOSED')) this.#views.end({ error: cause });
    };
    while (!signal.aborted && !this.#views.ended) {
      await follow(store.watchList(this.#prefix, { signal }), see, fail);
      if (!signal.aborted && !this.#views.ended) await sleep(clock, backoff.next(), signal);
    }
  }
}
