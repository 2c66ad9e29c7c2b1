/**
 * The connections of one store. Each call takes a connection for itself, because a call may wait
 * for a lock, and a renewal must not wait behind that call.
 */

import type { Cancel, Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import type { Connection, ConnectionSource } from './connection.ts';
import { cut, ExchangeError } from './failure.ts';

/** The most connections for calls. A renewal may open one more. */
const MAX_CONNECTIONS = 4;

/**
 * How long a call waits for a connection that another call uses, before one more is opened. A call
 * usually takes a few ms, and a new connection costs the server a process.
 */
const QUEUE_BEFORE_OPENING_MS = 10;

/**
 * How long no further connection is opened after a server had none, in ms. Those who wait get one
 * sooner if another call returns its connection.
 */
const REOPEN_AFTER_MS = 100;

/** A connection that was idle for this long is closed, unless it is the last one. */
const IDLE_MS = 10_000;

interface Waiter {
  readonly isUrgent: boolean;
  readonly sinceMs: number;
  readonly taken: PromiseWithResolvers<Connection>;
}

interface IdleConnection {
  readonly connection: Connection;
  readonly cancelClosing: Cancel;
}

export class Pool {
  readonly #source: ConnectionSource;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #busy = new Set<Connection>();
  readonly #waiters = new Set<Waiter>();
  /** In the order of their last use: the most recent one is at the end. */
  #idle: IdleConnection[] = [];
  #opening = 0;
  #reopenAtMs = -Infinity;
  #cancelOpening: Cancel = () => {};

  constructor(source: ConnectionSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /**
   * A connection for one call. Return it with `release`. Rejects with an `ExchangeError`, or with
   * the signal's reason.
   */
  async take(isUrgent: boolean, signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    const waiter: Waiter = { isUrgent, sinceMs: this.#clock.monotonic(), taken: Promise.withResolvers() };
    this.#waiters.add(waiter);
    const cancel = onAbort(signal, () => {
      if (this.#waiters.delete(waiter)) waiter.taken.reject(signal.reason);
    });
    this.#serve();
    try {
      return await waiter.taken.promise;
    } finally {
      cancel();
    }
  }

  /** Gives a connection back. One that has ended is forgotten. */
  release(connection: Connection): void {
    this.#busy.delete(connection);
    if (connection.usable) {
      const cancelClosing = this.#clock.schedule(IDLE_MS, () => this.#closeIdle(connection));
      this.#idle.push({ connection, cancelClosing });
    }
    this.#serve();
  }

  /**
   * Closes the idle connections that have received nothing since this moment. A call on another
   * connection has timed out, and these may be dead too.
   */
  distrust(sinceMs: number): void {
    for (const { connection } of this.#idle)
      if (connection.lastReceivedMs <= sinceMs) connection.end(cut('the connection was given up, because another one was silent'));
    this.#dropEnded();
  }

  /** Ends all connections. Idempotent. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    const closed = new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed');
    this.#closing.abort(closed);
    this.#cancelOpening();
    for (const connection of [...this.#busy, ...this.#idle.map((idle) => idle.connection)]) connection.end(closed);
    this.#dropEnded();
    this.#rejectAll(closed);
  }

  /** Gives idle connections to those who wait, renewals first, and opens what is missing. */
  #serve(): void {
    this.#dropEnded();
    const waiting = [...this.#waiters].toSorted((a, b) => Number(b.isUrgent) - Number(a.isUrgent));
    for (const waiter of waiting) {
      const idle = this.#idle.pop();
      if (idle === undefined) break;
      idle.cancelClosing();
      this.#busy.add(idle.connection);
      this.#waiters.delete(waiter);
      waiter.taken.resolve(idle.connection);
    }
    this.#openMissing();
  }

  #openMissing(): void {
    this.#cancelOpening();
    const waiting = [...this.#waiters];
    if (waiting.length === 0) return;
    const isFirst = this.#busy.size + this.#opening === 0;
    const sinceMs = Math.min(...waiting.map((waiter) => waiter.sinceMs));
    const leftMs = Math.max(sinceMs + QUEUE_BEFORE_OPENING_MS, this.#reopenAtMs) - this.#clock.monotonic();
    const limit = MAX_CONNECTIONS + (waiting.some(({ isUrgent }) => isUrgent) ? 1 : 0);
    if (!isFirst && leftMs > 0) {
      this.#cancelOpening = this.#clock.schedule(leftMs, () => this.#openMissing());
    } else if (this.#opening === 0 && this.#busy.size < limit) {
      void this.#open();
    }
  }

  async #open(): Promise<void> {
    this.#opening += 1;
    try {
      const connection = await this.#source.open(this.#closing.signal);
      this.#opening -= 1;
      if (this.#closing.signal.aborted) connection.end(cut('the store was closed'));
      this.release(connection);
    } catch (error) {
      this.#opening -= 1;
      // While another connection works, those who wait get that one. The server may have no more.
      const isAlone = this.#busy.size === 0 && this.#opening === 0;
      if (isAlone || this.#closing.signal.aborted) return this.#rejectAll(error);
      this.#reopenAtMs = this.#clock.monotonic() + REOPEN_AFTER_MS;
      this.#openMissing();
    }
  }

  #rejectAll(error: unknown): void {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      waiter.taken.reject(error);
    }
  }

  #closeIdle(connection: Connection): void {
    if (this.#idle.length + this.#busy.size > 1) connection.end(cut('the connection was idle'));
    this.#dropEnded();
  }

  #dropEnded(): void {
    for (const { connection, cancelClosing } of this.#idle) if (!connection.usable) cancelClosing();
    this.#idle = this.#idle.filter(({ connection }) => connection.usable);
  }
}
