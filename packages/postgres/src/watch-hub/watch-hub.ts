/**
 * What all watches of one store share: a connection that listens, and the time of the next lease
 * that may end.
 *
 * The server notifies of every change of a key, whoever changed it. A notification names the keys
 * that one transaction has changed, and the watches of these keys read them again. The end of a
 * lease causes no notification by itself: each store waits until the first lease may have ended,
 * and then asks. That question ends the leases whose time is over, which notifies every store. A
 * random delay spreads the questions, so that most stores learn of the end before they have asked.
 *
 * The question is also asked 3 s after each answer, whatever the notifications say. It finds a dead
 * connection, a server that has become a standby, and notifications that were lost. A pooler that
 * gives each transaction another connection of the server delivers no notifications. The hub
 * recognizes such a pooler, and then asks every 250 ms.
 */

import type { Cancel, Clock, Entry } from '@incumbent/core';
import { Backoff, fraction, sleep, systemRandom } from '@incumbent/core/adapter';
import {
  Attempt,
  endsWatch,
  FIRST_RECONNECT_PAUSE_MS,
  LONGEST_RECONNECT_PAUSE_MS,
  PROVE_EVERY_MS,
  type ReadQuery,
  storeClosed,
  WatchRegistry,
} from '@incumbent/network';

import type { Connection } from '../client/connection.ts';
import { cut, ExchangeError, hung, isAnswer, isTimeout } from '../client/failure.ts';
import { integerAt, onlyRow, type Row } from '../client/rows.ts';
import { statementOf, type StoreLocation } from '../client/store-calls.ts';
import { toStoreError, withMissingGrant } from '../errors.ts';
import type { Reads } from '../reads.ts';
import { RAISED } from '../schema/functions.ts';
import type { RegisteredWatch, WatchSource } from '../watch.ts';
import { notificationIn, type Probe, probeIn } from './probe.ts';

/**
 * How often a server behind a pooler is asked that delivers no notifications, and how long after a
 * refused question the next one follows.
 */
const POLL_MS = 250;
/** A server that does not answer the question within this time is dead or hangs. */
const PROBE_TIMEOUT_MS = 2_000;
/** How long the question may wait for a lock. */
const LOCK_TIMEOUT_MS = 1_000;
/** The longest random delay of a question when a lease may have ended. */
const SPREAD_MS = 20;
const READ_TIMEOUT_MS = 2_000;

/** Another call holds a lock. The connection works. */
const BUSY_STATES = ['55P03', '40P01', RAISED.late] as const;
/** After so many answers in a row that somebody holds a lock, the watches are stale. */
const STALE_AFTER_BUSY = 2;

export interface WatchHubContext {
  readonly clock: Clock;
  readonly location: StoreLocation;
  /** The channel of the namespace's notifications. */
  readonly channel: string;
  readonly reads: Pick<Reads, 'query'>;
}

export class WatchHub implements WatchSource {
  readonly clock: Clock;
  readonly #context: WatchHubContext;
  readonly #watches = new WatchRegistry<RegisteredWatch>();
  readonly #backoff = new Backoff(systemRandom, FIRST_RECONNECT_PAUSE_MS, LONGEST_RECONNECT_PAUSE_MS);
  readonly #closing = new AbortController();
  /** The connection on which notifications arrive. Undefined while it proves nothing. */
  #connection: Connection | undefined;
  /** The same, or the one that is being prepared or proves nothing. */
  #latest: Connection | undefined;
  #isRunning = false;
  /** Whether notifications arrive. */
  #isNotified = false;
  /** The highest counter of a notification that arrived. */
  #notifiedRevision = 0;
  /** The counter of the last answer. Its notification may still be on its way. */
  #answeredRevision = 0;
  /** When the next question is due, by the monotonic clock. */
  #dueAtMs = Infinity;
  /**
   * The latest time for the next question. No notification changes it, because whoever can connect
   * to the database can send notifications.
   */
  #dueByMs = Infinity;
  /** Ends the present wait for the next question. Undefined while the hub does not wait. */
  #endWait: (() => void) | undefined;
  #cancelTimer: Cancel = () => {};

  constructor(context: WatchHubContext) {
    this.clock = context.clock;
    this.#context = context;
  }

  add(watch: RegisteredWatch): void {
    if (this.#closing.signal.aborted) return watch.fail(storeClosed('postgres'));
    this.#watches.add(watch);
    if (this.#connection?.usable === true) watch.onConnected();
    else if (!this.#isRunning) void this.#run();
  }

  remove(watch: RegisteredWatch): void {
    this.#watches.delete(watch);
  }

  read(query: ReadQuery): Promise<readonly Entry[]> {
    return this.#context.reads.query(query, { timeoutMs: READ_TIMEOUT_MS, background: true });
  }

  /** Ends every watch with `STORE_CLOSED`. */
  close(): void {
    const closed = storeClosed('postgres');
    this.#closing.abort(closed);
    this.#endWait?.();
    this.#latest?.end(cut('the store was closed'));
    for (const watch of this.#watches) watch.fail(closed);
  }

  /** Connects, and connects again after every loss, while there are watches. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isNeeded) {
      try {
        const connection = await this.#connect();
        this.#backoff.reset();
        this.#onDisconnected(await this.#serve(connection));
      } catch (error) {
        if (!this.#closing.signal.aborted) this.#onDisconnected(error);
      }
      if (this.#isNeeded) await sleep(this.clock, this.#backoff.next(), this.#closing.signal);
    }
    this.#isRunning = false;
  }

  get #isNeeded(): boolean {
    return this.#watches.size > 0 && !this.#closing.signal.aborted;
  }

  async #connect(): Promise<Connection> {
    const connection = await this.#context.location.source.open(this.#closing.signal, (payload) => this.#onNotification(payload));
    this.#latest = connection;
    try {
      this.#closing.signal.throwIfAborted();
      const pid = integerAt(onlyRow(await this.#ask(connection, 'SELECT pg_backend_pid()')), 0);
      // A pooler has process ids of its own.
      this.#isNotified = pid === connection.processId;
      if (this.#isNotified) await this.#ask(connection, `LISTEN "${this.#context.channel}"`);
      const { revision, remainingMs } = await this.#probe(connection);
      this.#notifiedRevision = this.#answeredRevision = revision;
      this.#onAnswer(remainingMs);
      return connection;
    } catch (error) {
      connection.end(cut('the connection was given up'));
      throw error;
    }
  }

  /** Resolves at the end of the connection, with its reason. Ends it when there is no watch. */
  async #serve(connection: Connection): Promise<unknown> {
    // Once, and not with each wait: a listener stays for as long as the connection.
    void connection.ended.then(() => this.#endWait?.());
    this.#onConnected(connection);
    let busyAnswers = 0;
    while (connection.usable && this.#isNeeded) {
      await this.#untilDue();
      if (!connection.usable || !this.#isNeeded) break;
      try {
        const notifiedBefore = this.#notifiedRevision;
        this.#onProbe(await this.#probe(connection), notifiedBefore);
        busyAnswers = 0;
        if (this.#connection === undefined) this.#onConnected(connection);
      } catch (error) {
        if (isBusy(error)) {
          busyAnswers += 1;
          this.#onAnswer(undefined, POLL_MS);
          if (busyAnswers >= STALE_AFTER_BUSY) this.#onDisconnected(error);
        } else connection.end(error instanceof ExchangeError ? error : cut('the server could not be asked', error));
      }
    }
    connection.end(cut('there is nothing to watch'));
    return connection.ended;
  }

  #onConnected(connection: Connection): void {
    this.#connection = connection;
    for (const watch of this.#watches) watch.onConnected();
  }

  /** There is no connection, or it proves nothing, for this reason. */
  #onDisconnected(error: unknown): void {
    this.#connection = undefined;
    const reason = toStoreError(error, 'watch');
    for (const watch of this.#watches) {
      if (endsWatch(reason)) watch.fail(withMissingGrant(reason, this.#context.location));
      else watch.onDisconnected(reason);
    }
  }

  /** Waits for the next question, or for the end of the connection or of the hub. */
  async #untilDue(): Promise<void> {
    const over = Promise.withResolvers<void>();
    this.#endWait = () => over.resolve();
    this.#setTimer();
    await over.promise;
    this.#endWait = undefined;
    this.#cancelTimer();
  }

  /** While the hub waits, ends the wait when the question is due. Replaces an earlier timer. */
  #setTimer(): void {
    if (this.#endWait === undefined) return;
    this.#cancelTimer();
    const leftMs = this.#dueAtMs - this.clock.monotonic();
    if (leftMs <= 0) return this.#endWait();
    this.#cancelTimer = this.clock.schedule(leftMs, () => this.#setTimer());
  }

  /** The next lease may end in so many ms. */
  #setDue(remainingMs: number | undefined): void {
    const spreadMs = 1 + fraction(systemRandom) * SPREAD_MS;
    const atEndMs = remainingMs === undefined ? Infinity : Math.max(remainingMs, 0) + spreadMs;
    this.#dueAtMs = Math.min(this.clock.monotonic() + atEndMs, this.#dueByMs);
    this.#setTimer();
  }

  /** The server has answered a question. The next one is due in `askAgainMs` at the latest. */
  #onAnswer(remainingMs: number | undefined, askAgainMs = this.#isNotified ? PROVE_EVERY_MS : POLL_MS): void {
    this.#dueByMs = this.clock.monotonic() + askAgainMs;
    this.#setDue(remainingMs);
  }

  /** `notifiedBefore` is the highest counter of a notification that arrived before the question. */
  #onProbe({ revision, remainingMs }: Probe, notifiedBefore: number): void {
    this.#onAnswer(remainingMs);
    const answered = this.#answeredRevision;
    this.#answeredRevision = revision;
    // The notifications of the answer before this one have had the time to arrive. The counter is
    // lower if somebody restored an older state of the tables, which may notify of nothing.
    const isMissed = this.#isNotified ? answered > this.#notifiedRevision || revision < answered : revision !== answered;
    if (isMissed) {
      this.#notifiedRevision = Math.min(answered, revision);
      for (const watch of this.#watches) watch.invalidate();
    } else if (notifiedBefore > revision) {
      // Somebody else has sent that notification. It must not hide that later ones are lost.
      this.#notifiedRevision = revision;
    }
  }

  #onNotification(payload: string): void {
    const notification = notificationIn(payload);
    if (notification === undefined) return;
    this.#notifiedRevision = Math.max(this.#notifiedRevision, notification.revision);
    this.#setDue(notification.remainingMs);
    for (const key of notification.keys) for (const watch of this.#watches.watchesOf(key)) watch.invalidate();
  }

  async #probe(connection: Connection): Promise<Probe> {
    return probeIn(await this.#ask(connection, statementOf(this.#context.location, 'probe', LOCK_TIMEOUT_MS, [])));
  }

  async #ask(connection: Connection, statement: string): Promise<readonly Row[]> {
    const options = { timeoutMs: PROBE_TIMEOUT_MS, signal: this.#closing.signal, background: true };
    const attempt = new Attempt(this.clock, options, ExchangeError);
    attempt.sent = true;
    try {
      return await attempt.wait(connection.query(statement));
    } catch (error) {
      if (isTimeout(error)) connection.end(hung());
      throw error;
    } finally {
      attempt.end();
    }
  }
}

function isBusy(error: unknown): boolean {
  return isAnswer(error, ...BUSY_STATES);
}
