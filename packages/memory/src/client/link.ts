/** A client's link to the server, as a test breaks and mends it. */

import { checkNumber } from '@incumbent/core/adapter';
import type { CallFaults, DropOptions } from './call-faults.ts';
import type { Verb } from '../options.ts';
import type { Wire } from './connection.ts';

export interface StallWatchesOptions {
  /** How long the silence lasts before watches say that they are stale, in ms. Default Infinity. */
  readonly staleAfterMs?: number;
}

/**
 * The faults of one link. Those that last do so until {@link MemoryLink.heal}. A call that a fault swallows ends as `unknown` when its
 * time is up.
 */
export class MemoryLink {
  readonly #wire: Wire;
  readonly #faults: CallFaults;

  constructor(wire: Wire, faults: CallFaults) {
    this.#wire = wire;
    this.#faults = faults;
  }

  /** Swallows requests, answers and events, those under way included. Watches go stale. */
  cutOff(): void {
    this.#wire.cut();
  }

  /** Resets the connection and refuses new ones: calls in flight end as `unknown`, new ones as `notSent`, at once. Watches go stale. */
  refuse(): void {
    this.#wire.refuse();
  }

  /** Holds whatever arrives, both ways, until `heal` delivers it. Watches are not told: to them the store is merely silent. */
  stall(): void {
    this.#wire.stall();
  }

  /**
   * Holds the messages of watches until `heal` delivers them, while calls go through: one server of a
   * cluster hangs, and calls have moved to another. Watches go stale after `staleAfterMs`; by default
   * they never do, as those of an adapter that does not notice.
   */
  stallWatches(options: StallWatchesOptions = {}): void {
    this.#wire.stallWatches(checkNumber('staleAfterMs', options.staleAfterMs, Infinity, { min: 0, max: Infinity }));
  }

  /** Resets the connection once: calls in flight end as `unknown`, watches go stale and read again at once. */
  reset(): void {
    this.#wire.reset();
  }

  /** Adds `ms` to the way of every message, each way. 0 takes it back. */
  delay(ms: number): void {
    this.#wire.delay(checkNumber('ms', ms, 0, { min: 0, max: Infinity }));
  }

  /** The next `count` requests do not reach the server. */
  dropRequests(count: number, options: DropOptions = {}): void {
    this.#faults.dropRequests(count, options);
  }

  /** The next `count` requests that reach the server are applied, and their answers lost. */
  dropReplies(count: number, options: DropOptions = {}): void {
    this.#faults.dropReplies(count, options);
  }

  /**
   * Holds these calls (default: all that write) at the server's door until `release`, which applies them in their order, long after
   * their callers gave up: the case that a barrier is for.
   */
  holdWrites(...verbs: readonly Verb[]): void {
    this.#faults.hold(verbs);
  }

  release(): void {
    this.#faults.release();
  }

  /** Ends every fault. What was stalled or held is delivered; watches yield their state again. */
  heal(): void {
    this.#faults.clear();
    this.#wire.heal();
  }
}
