/** The link of a client to its server, with faults that a test switches on and off. */

import { checkNumber } from '@incumbent/core/adapter';
import type { Operation } from '../options.ts';
import type { CallFaults, DropOptions } from './call-faults.ts';
import type { Connection } from './connection.ts';

/** The options of {@link MemoryLink.stallWatches}. */
export interface StallWatchesOptions {
  /** After how long watches go stale, in ms. Default `Infinity`: they do not. */
  readonly staleAfterMs?: number | undefined;
}

/**
 * The faults of one client's link. A fault stays on until {@link MemoryLink.heal}. A call whose
 * request or reply is lost ends as `unknown` at its timeout.
 */
export class MemoryLink {
  readonly #connection: Connection;
  readonly #faults: CallFaults;

  constructor(connection: Connection, faults: CallFaults) {
    this.#connection = connection;
    this.#faults = faults;
  }

  /** Loses all requests, replies and events, including those in flight. Watches go stale. */
  cutOff(): void {
    this.#connection.cut();
  }

  /**
   * Resets the connection and refuses new ones. Calls in flight end as `unknown`, and new calls as
   * `notSent`, at once. Watches go stale.
   */
  refuse(): void {
    this.#connection.refuse();
  }

  /**
   * Holds all messages, in both directions, until `heal` delivers them. Neither calls nor watches
   * are notified.
   */
  stall(): void {
    this.#connection.stall();
  }

  /**
   * Holds the messages of watches until `heal` delivers them, while calls go through. This is what
   * a client sees when one server of a cluster hangs and calls have moved to another. Watches go
   * stale after `staleAfterMs`. By default they never do, like watches of an adapter that does not
   * notice silence.
   *
   * @throws `INVALID_OPTION` for a time below 0.
   */
  stallWatches(options: StallWatchesOptions = {}): void {
    this.#connection.stallWatches(checkNumber('staleAfterMs', options.staleAfterMs, Infinity, { min: 0, max: Infinity }));
  }

  /**
   * Resets the connection once. Calls in flight end as `unknown`; watches go stale and read again.
   */
  reset(): void {
    this.#connection.reset();
  }

  /**
   * Delays every message by `ms`, in each direction. 0 ends the delay.
   *
   * @throws `INVALID_OPTION` for a time below 0.
   */
  delay(ms: number): void {
    this.#connection.delay(checkNumber('ms', ms, 0, { min: 0, max: Infinity }));
  }

  /** The next `count` requests do not reach the server. */
  dropRequests(count: number, options: DropOptions = {}): void {
    this.#faults.dropRequests(count, options);
  }

  /** The server applies the next `count` requests, and their replies are lost. */
  dropReplies(count: number, options: DropOptions = {}): void {
    this.#faults.dropReplies(count, options);
  }

  /**
   * Holds these calls (default: all that write) at the server until `release`, which applies them
   * in the order in which they came, long after their callers gave up.
   */
  holdWrites(...operations: readonly Operation[]): void {
    this.#faults.hold(operations);
  }

  /** Applies the calls that `holdWrites` holds, and ends that fault. */
  release(): void {
    this.#faults.release();
  }

  /** Ends every fault and delivers the messages that were held. Watches yield their state again. */
  heal(): void {
    this.#faults.clear();
    this.#connection.heal();
  }
}
