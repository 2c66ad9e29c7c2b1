/** Keeps one session connected: after a lost connection it looks for another server. */

import type { Random } from '@incumbent/core';
import { Backoff, sleep } from '@incumbent/core/adapter';
import { Attempt, describeError, type Endpoint, FIRST_RECONNECT_PAUSE_MS, LONGEST_RECONNECT_PAUSE_MS } from '@incumbent/network';

import type { Connection } from '../connection/connection.ts';
import { isFinal, openConnection, shuffled, type DialLimits, type DialOptions } from '../connection/dialer.ts';
import { closedSession, ExchangeError, notConnected } from '../errors.ts';
import type { Auth, SessionIdentity } from '../protocol/hello.ts';
import type { WatchEvent } from '../protocol/watches.ts';

export interface SessionConnectorOptions extends DialOptions {
  readonly random: Random;
  /** The servers of one ensemble; at least one. */
  readonly endpoints: readonly Endpoint[];
  /** How long the session should last without a sign of life, in ms. */
  readonly timeoutMs: number;
  /** Shown to every server before any request. */
  readonly auths: readonly Auth[];
  /** The session to take over; undefined for a new one. */
  readonly identity?: SessionIdentity;
  /**
   * A new session follows one that has expired. For reads and watches, which do not need a
   * particular session. Default false.
   */
  readonly lasting?: boolean;
  /**
   * For a lease: sends no pings, so that only requests keep the session, and counts only complete
   * replies as signs of life. Default false: pings keep the session while this process lives.
   */
  readonly quiet?: boolean;
}

export interface SessionConnectorHandlers {
  /** `reattached`: the session is the one of the connection before. */
  onConnected(connection: Connection, reattached: boolean): void;
  onLost(cause: ExchangeError): void;
  /**
   * The session is over: it has expired, or the servers no longer accept the client's identities. A
   * new session follows if the old one is lasting and has expired.
   */
  onOver(cause: ExchangeError): void;
  onEvent(event: WatchEvent): void;
}

/** How long one round over the servers may take if there is no session to keep. */
const ROUND_TIMEOUT_MS = 60_000;

/**
 * A connection that lasted so long worked. After a shorter one, the next round waits for its pause:
 * a server may accept and close connections for ever.
 */
const STABLE_MS = 1_000;

export class SessionConnector {
  readonly #options: SessionConnectorOptions;
  readonly #handlers: SessionConnectorHandlers;
  readonly #backoff: Backoff;
  readonly #stopped = new AbortController();
  #isFirstRound = true;
  #connection: Connection | undefined;
  #next = Promise.withResolvers<Connection>();
  #identity: SessionIdentity | undefined;
  #timeoutMs: number;
  #lastZxid = 0n;
  #provenAtMs = 0;
  #connectedAtMs = 0;
  /** The server whose connection was lost last. It is tried after the others. */
  #lostAt: Endpoint | undefined;

  constructor(options: SessionConnectorOptions, handlers: SessionConnectorHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    // The pauses before the rounds after a loss. The first round starts at once.
    this.#backoff = new Backoff(options.random, FIRST_RECONNECT_PAUSE_MS, LONGEST_RECONNECT_PAUSE_MS);
    this.#identity = options.identity;
    this.#timeoutMs = options.timeoutMs;
  }

  get identity(): SessionIdentity | undefined {
    return this.#identity;
  }

  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /**
   * The last transaction that the servers have reported; 0 for none. Of a lasting session, since
   * the present one began.
   */
  get lastZxid(): bigint {
    const { lastZxid = 0n } = this.#connection ?? {};
    return lastZxid > this.#lastZxid ? lastZxid : this.#lastZxid;
  }

  /** The connection that takes requests now; undefined while there is none. */
  get connection(): Connection | undefined {
    return this.#connection?.over === false ? this.#connection : undefined;
  }

  /** The next connection. Never settles if there is none. */
  get next(): Promise<Connection> {
    return this.#next.promise;
  }

  /** Opens the first connection. Rejects as `openConnection` does. */
  async open(signal: AbortSignal): Promise<void> {
    this.#attach(await this.#dial(this.#options, signal), false);
  }

  /** Ends the connection for good with this reason. */
  stop(reason: ExchangeError): void {
    this.#stopped.abort(reason);
    this.#connection?.destroy(reason);
  }

  #attach(connection: Connection, reattached: boolean): void {
    // After a stop during the last step of the handshake, nobody else knows this connection.
    if (this.#stopped.signal.aborted) connection.destroy(closedSession(false));
    this.#stopped.signal.throwIfAborted();
    this.#connection = connection;
    this.#connectedAtMs = this.#options.clock.monotonic();
    this.#identity = connection.welcome.identity;
    this.#timeoutMs = connection.welcome.timeoutMs;
    this.#next.resolve(connection);
    this.#next = Promise.withResolvers<Connection>();
    void connection.ended.then((cause) => this.#onLoss(connection, cause));
    this.#handlers.onConnected(connection, reattached);
  }

  #onLoss(connection: Connection, cause: ExchangeError): void {
    this.#lastZxid = this.lastZxid;
    this.#connection = undefined;
    if (this.#options.clock.monotonic() - this.#connectedAtMs >= STABLE_MS) this.#resetBackoff();
    this.#lostAt = connection.endpoint;
    this.#provenAtMs = connection.provenAtMs;
    if (this.#stopped.signal.aborted) return;
    this.#handlers.onLost(cause);
    void this.#recover(cause);
  }

  async #recover(lost: ExchangeError): Promise<void> {
    let cause = lost;
    while (!this.#stopped.signal.aborted) {
      const reattached = this.#identity !== undefined;
      const pauseMs = Math.min(this.#nextPauseMs(), this.#leftMs());
      if (pauseMs > 0) await sleep(this.#options.clock, pauseMs, this.#stopped.signal);
      try {
        this.#attach(await this.#dialAgain(cause), reattached);
        return;
      } catch (error) {
        cause = error instanceof ExchangeError ? error : notConnected('unreachable', describeError(error), error);
        if (isFinal(cause) && !this.#stopped.signal.aborted) this.#onFinal(cause);
      }
    }
  }

  #onFinal(cause: ExchangeError): void {
    if (this.#options.lasting === true && cause.failure.kind === 'expired') {
      this.#identity = undefined;
      // Servers that were restored from a backup stay behind the last transaction for ever.
      this.#lastZxid = 0n;
    } else {
      this.#stopped.abort(cause);
    }
    this.#handlers.onOver(cause);
  }

  #resetBackoff(): void {
    this.#isFirstRound = true;
    this.#backoff.reset();
  }

  #nextPauseMs(): number {
    if (!this.#isFirstRound) return this.#backoff.next();
    this.#isFirstRound = false;
    return 0;
  }

  /** How long the session can still be taken over, in ms. */
  #leftMs(): number {
    if (this.#identity === undefined) return ROUND_TIMEOUT_MS;
    return this.#provenAtMs + this.#timeoutMs - this.#options.clock.monotonic();
  }

  /** One round over the servers. Rejects with `expired` when the session's time is over. */
  async #dialAgain(cause: ExchangeError): Promise<Connection> {
    const timeoutMs = this.#leftMs();
    if (timeoutMs <= 0) throw givenUp(cause);
    const attempt = new Attempt(this.#options.clock, { timeoutMs, signal: this.#stopped.signal, background: true }, ExchangeError);
    const { connectTimeoutMs, handshakeTimeoutMs } = this.#options;
    const shareMs = this.#timeoutMs / 3;
    const limits = { connectTimeoutMs: Math.min(connectTimeoutMs, shareMs), handshakeTimeoutMs: Math.min(handshakeTimeoutMs, shareMs) };
    try {
      return await this.#dial(limits, attempt.signal);
    } catch (error) {
      throw attempt.signal.aborted && this.#identity !== undefined ? givenUp(cause) : error;
    } finally {
      attempt.end();
    }
  }

  async #dial(limits: DialLimits, signal: AbortSignal): Promise<Connection> {
    const { clock, random, endpoints, connect, answers, timeoutMs, auths, quiet = false } = this.#options;
    const { connectTimeoutMs, handshakeTimeoutMs } = limits;
    const others = endpoints.filter((endpoint) => endpoint !== this.#lostAt);
    const order = [...shuffled(others, random), ...(this.#lostAt === undefined ? [] : [this.#lostAt])];
    const hello = { identity: this.#identity, timeoutMs, lastZxid: this.#lastZxid, auths };
    const onEvent = (event: WatchEvent): void => this.#handlers.onEvent(event);
    const options = { clock, connect, answers, connectTimeoutMs, handshakeTimeoutMs, quiet, onEvent };
    const connection = await openConnection(order, options, hello, signal);
    // The signal may have aborted at the moment in which the connection opened.
    if (signal.aborted) connection.destroy(closedSession(false));
    signal.throwIfAborted();
    return connection;
  }
}

function givenUp(cause: ExchangeError): ExchangeError {
  return new ExchangeError({ kind: 'expired', by: 'clock' }, 'no server could be reached for as long as the session lasts', cause);
}
