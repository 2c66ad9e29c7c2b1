/** One watch at the server, and those that nobody needs any more. */

import type { ExchangeError } from './client/failure.ts';
import type { KeyRange } from './protocol/kv.ts';
import type { WatchEvent } from './protocol/watch.ts';
import type { Stoppable } from './watch-recovery.ts';

/** Receives what one watch reports. */
export interface Subscriber extends Stoppable {
  onEvents(events: readonly WatchEvent[]): void;
  /** A watch that the server had confirmed has ended. Not called after `cancel`. */
  onEnded(error: ExchangeError): void;
}

/** What a watch was asked for: every change of a range from a revision on. */
export interface WatchedRange {
  readonly range: KeyRange;
  readonly startRevision: bigint;
}

/** One watch of a stream. */
export class Subscription {
  readonly watched: WatchedRange;
  readonly #subscriber: Subscriber;
  readonly #cancel: (subscription: Subscription) => void;
  /** Undefined once the server watches. */
  #starting: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();
  /** The last revision that the subscriber has received. */
  #received = 0n;
  /** The events that came after the subscriber had cancelled. Undefined if there are none. */
  #late: WatchEvent[] | undefined;
  /** The server's id of the watch. Undefined until the server watches. */
  id: bigint | undefined;
  over = false;

  constructor(watched: WatchedRange, subscriber: Subscriber, cancel: (subscription: Subscription) => void) {
    this.watched = watched;
    this.#subscriber = subscriber;
    this.#cancel = cancel;
  }

  /** Resolves when the server watches. Rejects with an `ExchangeError` if it does not. */
  get created(): Promise<void> {
    return this.#starting?.promise ?? Promise.resolve();
  }

  /** The server watches. */
  started(id: bigint): void {
    this.id = id;
    this.#starting?.resolve();
    this.#starting = undefined;
  }

  receive(events: readonly WatchEvent[]): void {
    if (this.over) {
      this.#late = [...(this.#late ?? []), ...events];
      return;
    }
    this.#received = events.at(-1)?.kv.modRevision ?? this.#received;
    this.#subscriber.onEvents(events);
  }

  /** Whether this watch, which its subscriber has cancelled, has every event of another one. */
  hasAllOf({ startRevision }: WatchedRange): boolean {
    return this.watched.startRevision <= startRevision && this.#received < startRevision;
  }

  /** Takes the place of a cancelled watch at the server, and receives the events that it kept. */
  takeOver(cancelled: Subscription): void {
    if (cancelled.id !== undefined) this.started(cancelled.id);
    if (cancelled.#late !== undefined) this.receive(cancelled.#late);
  }

  end(error: ExchangeError | undefined): void {
    if (this.over) return;
    this.over = true;
    if (this.#starting !== undefined) this.#starting.reject(error);
    else if (error !== undefined) this.#subscriber.onEnded(error);
  }

  /** Ends the watch. Idempotent. */
  cancel(): void {
    if (this.over) return;
    this.end(undefined);
    this.#cancel(this);
  }
}

/** How long the server keeps a watch that nobody needs, in ms. */
const KEPT_MS = 10;

/**
 * Watches that nobody needs any more. The server is told a moment later, after the requests that
 * somebody waits for. A watch of the same keys that begins until then takes one of them over: a
 * candidate watches who leads, and does so again as the leader.
 */
export class CancelledWatches {
  /** By what they watch. There may be thousands. */
  readonly #watches = new Map<string, Subscription[]>();
  readonly #cancelAll: (watches: readonly Subscription[]) => void;
  #timer: NodeJS.Timeout | undefined;

  /** `cancelAll` tells the server. */
  constructor(cancelAll: (watches: readonly Subscription[]) => void) {
    this.#cancelAll = cancelAll;
  }

  add(watch: Subscription): void {
    const name = nameOf(watch.watched);
    const others = this.#watches.get(name);
    if (others === undefined) this.#watches.set(name, [watch]);
    else others.push(watch);
    this.#timer ??= setTimeout(() => this.#end(), KEPT_MS).unref();
  }

  /** Removes a watch that has every event of the wanted one, and returns it. */
  take(wanted: WatchedRange): Subscription | undefined {
    const taken = this.#watches.get(nameOf(wanted))?.find((watch) => watch.hasAllOf(wanted));
    if (taken !== undefined) this.delete(taken);
    return taken;
  }

  /** Forgets a watch: the server has ended it. */
  delete(watch: Subscription): void {
    const name = nameOf(watch.watched);
    const others = this.#watches.get(name)?.filter((other) => other !== watch);
    if (others !== undefined) this.#watches.set(name, others);
  }

  /** Forgets all watches: their stream has ended. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#watches.clear();
  }

  #end(): void {
    this.#timer = undefined;
    const watches = [...this.#watches.values()].flat();
    this.#watches.clear();
    this.#cancelAll(watches);
  }
}

function nameOf({ range: { key, end } }: WatchedRange): string {
  return end === undefined ? key : `${key}\0${end}`;
}
