/**
 * Calls to a server: each is one attempt, bounded in time. What it needs before it can be sent (a connection) it gets first; once it is sent it is never
 * sent again.
 */

import type { Duplex } from 'node:stream';

import type { Clock } from '@incumbent/core';
import {
  Attempt,
  type AttemptOptions,
  type Connect,
  describeError,
  type Endpoint,
  endpointName,
  SharedAllowance,
} from '@incumbent/network';

import { Connection } from './connection.ts';
import { callOver, ExchangeError, isAnswer, notConnected, turnedAway } from './failure.ts';
import { greet, type Greeting } from './greeting.ts';
import type { Reply } from '../protocol/resp.ts';

export interface ClientOptions extends Greeting {
  readonly clock: Clock;
  readonly endpoints: readonly Endpoint[];
  readonly connect: Connect;
  /** One server may take so long to accept, and to greet. */
  readonly dialTimeoutMs: number;
  /** Of what several servers did, picks the error to tell. */
  readonly mildest: (errors: readonly unknown[]) => unknown;
  readonly unasked: (reply: Reply) => void;
}

/** What a call does on its connection: one request, or another in its place where the first was certainly turned away, unless the call is over. */
type Exchange<T> = (connection: Connection, over: AbortSignal) => Promise<T>;

/**
 * A server that answers so does not take what it is sent, and another may: it follows another one, has not the slot, reads what it keeps, or is a primary
 * that lacks replicas or whose disk fails, as one is that a replica was promoted in place of. Its role still says that it is a primary.
 *
 * Not `OOM`, `BUSY` and `TRYAGAIN`, which do not say that the server has been replaced: with full memory it still renews leases.
 */
const ELSEWHERE = ['READONLY', 'MOVED', 'ASK', 'MASTERDOWN', 'CLUSTERDOWN', 'LOADING', 'NOREPLICAS', 'MISCONF'] as const;

export class Client {
  readonly #options: ClientOptions;
  readonly #attempts = new Set<Attempt>();
  readonly #closing = new AbortController();
  /** Of all connections, those that have retired too. */
  readonly #answers = new SharedAllowance();
  /** Those that have something in flight still. */
  readonly #retired = new Set<Connection>();
  #connection: Connection | undefined;
  #dialing: Promise<Connection> | undefined;
  /** Where to begin: the index of the server that served last, or of the next one where that turned a call away. */
  #first = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Rejects with an `ExchangeError`, or with the signal's reason if that aborts. */
  async call<T>(exchange: Exchange<T>, options: AttemptOptions): Promise<T> {
    if (this.closed) throw new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed');
    options.signal?.throwIfAborted();
    const attempt = new Attempt(this.#options.clock, options, callOver);
    this.#attempts.add(attempt);
    try {
      let connection = await attempt.wait(this.connection());
      // It may end in the moment in which it is handed out.
      if (!connection.usable) connection = await attempt.wait(this.connection());
      attempt.signal.throwIfAborted();
      attempt.sent = true;
      return await this.#onTime(attempt, connection, exchange);
    } finally {
      this.#attempts.delete(attempt);
      attempt.end();
    }
  }

  /** The connection for the next request, made if there is none. Rejects with an `ExchangeError`. */
  connection(): Promise<Connection> {
    if (this.closed) return Promise.reject(new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed'));
    if (this.#connection?.usable === true) return Promise.resolve(this.#connection);
    this.#dialing ??= this.#dial().finally(() => {
      this.#dialing = undefined;
    });
    return this.#dialing;
  }

  /**
   * An exchange on this very connection, which is given up where the server does not take what it is sent: what else is on its way there gets its own answer.
   * Rejects with an `ExchangeError`.
   */
  async use<T>(connection: Connection, exchange: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await exchange(connection);
    } catch (error) {
      if (isAnswer(error, ...ELSEWHERE)) this.#turnFrom(connection, turnedAway(error.failure.answer, error));
      throw error;
    }
  }

  /** Ends the calls under way and the connection, at once. Idempotent. */
  close(): void {
    if (this.closed) return;
    this.#closing.abort(new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed'));
    for (const attempt of this.#attempts) attempt.close();
    for (const connection of [this.#connection, ...this.#retired])
      connection?.end(new ExchangeError({ kind: 'closed', sent: true }, 'the store was closed'));
  }

  /** What a silent connection has in flight may still be answered; the next calls go by another: one of the two may be on a dead link. */
  async #onTime<T>(attempt: Attempt, connection: Connection, exchange: Exchange<T>): Promise<T> {
    const sentAtMs = this.#options.clock.monotonic();
    try {
      return await attempt.wait(this.use(connection, (used) => exchange(used, attempt.signal)));
    } catch (error) {
      const isLate = error instanceof ExchangeError && error.failure.kind === 'timeout';
      if (isLate && connection.heardAtMs <= sentAtMs)
        this.#leave(connection, new ExchangeError({ kind: 'cut' }, 'the connection was given up: it had been silent'));
      throw error;
    }
  }

  /** Several requests may be answered the same: the first answer turns to the next server, the others skip none. */
  #turnFrom(connection: Connection, why: ExchangeError): void {
    if (this.#connection === connection) this.#first = (this.#first + 1) % this.#options.endpoints.length;
    this.#leave(connection, why);
  }

  #leave(connection: Connection, why: ExchangeError): void {
    if (this.#connection === connection) this.#connection = undefined;
    connection.retire(why);
    this.#retired.add(connection);
    void connection.ended.then(() => this.#retired.delete(connection));
  }

  /** Tries one server after the other until one takes writes. */
  async #dial(): Promise<Connection> {
    const { endpoints, mildest } = this.#options;
    const failures: unknown[] = [];
    for (let i = 0; i < endpoints.length; i += 1) {
      const index = (this.#first + i) % endpoints.length;
      const endpoint = endpoints[index];
      if (endpoint === undefined) continue;
      try {
        const connection = await this.#open(endpoint);
        if (this.closed) connection.end(new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed'));
        this.#closing.signal.throwIfAborted();
        this.#connection = connection;
        this.#first = index;
        return connection;
      } catch (error) {
        failures.push(error);
        this.#closing.signal.throwIfAborted();
      }
    }
    throw mildest(failures);
  }

  async #open(endpoint: Endpoint): Promise<Connection> {
    const { clock, connect, dialTimeoutMs, unasked } = this.#options;
    const attempt = new Attempt(clock, { timeoutMs: dialTimeoutMs, signal: this.#closing.signal, background: true }, callOver);
    const late = new ExchangeError({ kind: 'cut' }, 'the connection was given up');
    let connection: Connection | undefined;
    try {
      const stream = await attempt.wait(this.#stream(endpoint, connect, attempt.signal));
      connection = new Connection(stream, clock, { unasked, answers: this.#answers });
      await attempt.wait(greet(connection, this.#options));
      return connection;
    } catch (error) {
      connection?.end(late);
      throw named(endpoint, error, dialTimeoutMs);
    } finally {
      attempt.end();
    }
  }

  /** One that comes when nobody waits for it any more is destroyed. */
  async #stream(endpoint: Endpoint, connect: Connect, signal: AbortSignal): Promise<Duplex> {
    let stream: Duplex;
    try {
      stream = await connect(endpoint, signal);
    } catch (error) {
      throw notConnected('unreachable', describeError(error), error);
    }
    if (!signal.aborted) return stream;
    stream.destroy();
    throw signal.reason;
  }
}

/** An address in the message, as there may be several. */
function named(endpoint: Endpoint, error: unknown, timeoutMs: number): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message, cause } = error;
  if (failure.kind === 'timeout')
    return notConnected(
      'silent',
      `${endpointName(endpoint)}: no answer within ${timeoutMs} ms, as from one that is no Redis, or speaks no TLS`,
    );
  return failure.kind === 'notConnected' ? new ExchangeError(failure, `${endpointName(endpoint)}: ${message}`, cause) : error;
}
