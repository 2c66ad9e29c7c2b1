/** One session's way from one connection to the next, for as long as it lasts. */

import type { Random } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import { Attempt, describeError, type Endpoint } from '@incumbent/network';

import { Pauses, shuffled } from '../connection/backoff.ts';
import type { Connection } from '../connection/connection.ts';
import { dial, type GreetOptions } from '../connection/dial.ts';
import { callOver, closedSession, ExchangeError, notConnected } from '../connection/failure.ts';
import type { Auth, SessionIdentity } from '../connection/handshake.ts';
import { isFinal } from '../connection/dialer.ts';
import type { WatchEvent } from '../protocol/watches.ts';

export interface LifelineOptions extends GreetOptions {
  readonly random: Random;
  /** The servers of one ensemble. At least one. */
  readonly endpoints: readonly Endpoint[];
  /** How long the session is asked to last without a sign of life, in ms. */
  readonly timeoutMs: number;
  /** Shown to every server before anything else is asked of it. */
  readonly auths: readonly Auth[];
  /** The session to take over, in place of a new one. */
  readonly identity?: SessionIdentity;
  /** A session that expires is followed by a new one. For what needs no session of its own: reads, and watches. */
  readonly lasting?: boolean;
  /** A session that is kept by requests alone: without them it ends by its timeout. Default false: pings keep it while this process lives. */
  readonly quiet?: boolean;
}

export interface LifelineHandlers {
  /** `reattached`: it is the session of the connection before. */
  onConnected(connection: Connection, reattached: boolean): void;
  onLost(cause: ExchangeError): void;
  /** The session is over: `expired`, or not accepted any more. If it is lasting and has expired, the next one follows. */
  onOver(cause: ExchangeError): void;
  onEvent(event: WatchEvent): void;
}

/** How long one round over the servers may take where no session is at stake. */
const ROUND_TIMEOUT_MS = 60_000;

/** A connection that lived for so long was a good one. After others the next is not tried at once: servers may take, and cut, for ever. */
const CALM_MS = 1_000;

export class Lifeline {
  readonly #options: LifelineOptions;
  readonly #handlers: LifelineHandlers;
  readonly #pauses: Pauses;
  readonly #stopped = new AbortController();
  #connection: Connection | undefined;
  #next = Promise.withResolvers<Connection>();
  #identity: SessionIdentity | undefined;
  #timeoutMs: number;
  #lastZxid = 0n;
  #provenAtMs = 0;
  #attachedAtMs = 0;
  /** The server that was lost last: it is tried after the others. */
  #lostAt: Endpoint | undefined;

  constructor(options: LifelineOptions, handlers: LifelineHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#pauses = new Pauses(options.random);
    this.#identity = options.identity;
    this.#timeoutMs = options.timeoutMs;
  }

  get identity(): SessionIdentity | undefined {
    return this.#identity;
  }

  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** The connection that requests can be sent on now. */
  get connection(): Connection | undefined {
    return this.#connection?.over === false ? this.#connection : undefined;
  }

  /** The next connection, whenever it comes. */
  get next(): Promise<Connection> {
    return this.#next.promise;
  }

  /** The first connection. Rejects as `dial` does. */
  async open(signal: AbortSignal): Promise<void> {
    this.#attach(await this.#dial(this.#options, signal), false);
  }

  /** For good: ends the connection, and looks for no other. */
  stop(reason: ExchangeError): void {
    this.#stopped.abort(reason);
    this.#connection?.destroy(reason);
  }

  #attach(connection: Connection, reattached: boolean): void {
    // Stopped between the last word of the greeting and this: nobody else knows of the connection.
    if (this.#stopped.signal.aborted) connection.destroy(closedSession(false));
    this.#stopped.signal.throwIfAborted();
    this.#connection = connection;
    this.#attachedAtMs = this.#options.clock.monotonic();
    this.#identity = connection.welcome.identity;
    this.#timeoutMs = connection.welcome.timeoutMs;
    this.#next.resolve(connection);
    this.#next = Promise.withResolvers<Connection>();
    void connection.ended.then((cause) => this.#onLoss(connection, cause));
    this.#handlers.onConnected(connection, reattached);
  }

  #onLoss(connection: Connection, cause: ExchangeError): void {
    this.#connection = undefined;
    if (this.#options.clock.monotonic() - this.#attachedAtMs >= CALM_MS) this.#pauses.reset();
    this.#lostAt = connection.endpoint;
    this.#provenAtMs = connection.provenAtMs;
    if (connection.lastZxid > this.#lastZxid) this.#lastZxid = connection.lastZxid;
    if (this.#stopped.signal.aborted) return;
    this.#handlers.onLost(cause);
    void this.#recover(cause);
  }

  async #recover(lost: ExchangeError): Promise<void> {
    let cause = lost;
    while (!this.#stopped.signal.aborted) {
      const reattached = this.#identity !== undefined;
      await this.#pause(Math.min(this.#pauses.next(), this.#leftMs()));
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
      // A store that was restored from a backup is behind what was seen before, for ever.
      this.#lastZxid = 0n;
    } else {
      this.#stopped.abort(cause);
    }
    this.#handlers.onOver(cause);
  }

  /** How long the session can still be taken over, in ms. */
  #leftMs(): number {
    if (this.#identity === undefined) return ROUND_TIMEOUT_MS;
    return this.#provenAtMs + this.#timeoutMs - this.#options.clock.monotonic();
  }

  /** One round. Rejects with `expired` when the session's time is over, whose cause is what failed before. */
  async #dialAgain(cause: ExchangeError): Promise<Connection> {
    const timeoutMs = this.#leftMs();
    if (timeoutMs <= 0) throw givenUp(cause);
    const attempt = new Attempt(this.#options.clock, { timeoutMs, signal: this.#stopped.signal, background: true }, callOver);
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

  async #dial(limits: Pick<GreetOptions, 'connectTimeoutMs' | 'handshakeTimeoutMs'>, signal: AbortSignal): Promise<Connection> {
    const { clock, random, endpoints, connect, answers, timeoutMs, auths, quiet = false } = this.#options;
    const others = endpoints.filter((endpoint) => endpoint !== this.#lostAt);
    const order = [...shuffled(others, random), ...(this.#lostAt === undefined ? [] : [this.#lostAt])];
    const hello = { identity: this.#identity, timeoutMs, lastZxid: this.#lastZxid, auths };
    const options = { clock, connect, answers, ...limits, quiet, onEvent: (event: WatchEvent) => this.#handlers.onEvent(event) };
    const connection = await dial(order, options, hello, signal);
    // Given up in the very moment in which it came about.
    if (signal.aborted) connection.destroy(closedSession(false));
    signal.throwIfAborted();
    return connection;
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.schedule(ms, () => {
        forget();
        resolve();
      });
      const forget = onAbort(this.#stopped.signal, () => {
        cancel();
        resolve();
      });
    });
  }
}

function givenUp(cause: ExchangeError): ExchangeError {
  return new ExchangeError({ kind: 'expired', by: 'clock' }, 'no server could be reached for as long as the session lasts', cause);
}
