/**
 * Calls to the server that accepts writes. Each call is one attempt, bounded in time: a request is
 * never sent twice.
 */

import type { Clock } from '@incumbent/core';
import { type Attempt, type AttemptOptions, Calls, type Connect, type Endpoint, endpointName, SharedAllowance } from '@incumbent/network';

import { mildestError } from '../errors.ts';
import { answerIn, connectionRefused, ExchangeError, isAnswer, isSilent, notConnected } from '../protocol/failure.ts';
import type { Reply } from '../protocol/resp.ts';
import type { Connection } from './connection.ts';
import type { Greeting } from './greeting.ts';
import { openConnection } from './open-connection.ts';
import { MAX_REDIRECTIONS, movedTo, type Servers, type StartingPoint } from './servers.ts';

export interface ClientOptions extends Greeting {
  readonly clock: Clock;
  readonly servers: Servers;
  readonly connect: Connect;
  /** The longest time for one server to accept a connection and to answer the greeting. */
  readonly dialTimeoutMs: number;
  readonly onPush: (reply: Reply) => void;
}

/**
 * What a call does on its connection: one request, or a second one if the server certainly did
 * nothing for the first. `over` aborts at the end of the call.
 */
type Exchange<T> = (connection: Connection, over: AbortSignal) => Promise<T>;

/**
 * After these answers, the next request goes to another server. This one is a replica, does not
 * have the slot, is loading its data, or is a primary that lacks replicas or whose disk fails,
 * which may mean that a replica was promoted in its place. Its role still says that it is a
 * primary.
 *
 * Not `OOM`, `BUSY` and `TRYAGAIN`: they do not mean that the server was replaced, and a server
 * whose memory is full still renews leases.
 */
const TRY_ANOTHER_SERVER = ['READONLY', 'MOVED', 'ASK', 'MASTERDOWN', 'CLUSTERDOWN', 'LOADING', 'NOREPLICAS', 'MISCONF'] as const;

export class Client {
  readonly #options: ClientOptions;
  readonly #calls: Calls;
  readonly #closing = new AbortController();
  /** Shared by all connections, retired ones too. */
  readonly #answers = new SharedAllowance();
  /** Connections that take no more requests and wait for answers. */
  readonly #retired = new Set<Connection>();
  #connection: Connection | undefined;
  #dialing: Promise<Connection> | undefined;
  /** The server of the last connection. */
  #endpoint: Endpoint | undefined;
  /** Where the next search for a server begins. */
  #start: StartingPoint | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#calls = new Calls(options.clock, ExchangeError);
  }

  get closed(): boolean {
    return this.#calls.closed;
  }

  /** Rejects with an `ExchangeError`, or with the signal's reason if the signal aborts. */
  call<T>(exchange: Exchange<T>, options: AttemptOptions): Promise<T> {
    return this.#calls.run(options, async (attempt) => {
      let connection = await attempt.wait(this.connect());
      // The connection may end between its opening and this line.
      if (!connection.usable) connection = await attempt.wait(this.connect());
      attempt.signal.throwIfAborted();
      attempt.sent = true;
      return this.#exchange(attempt, connection, exchange);
    });
  }

  /**
   * The connection for the next request. Opens one if there is none. Rejects with an
   * `ExchangeError`.
   */
  connect(): Promise<Connection> {
    if (this.closed) return Promise.reject(closed(false));
    if (this.#connection?.usable === true) return Promise.resolve(this.#connection);
    this.#dialing ??= this.#dial().finally(() => {
      this.#dialing = undefined;
    });
    return this.#dialing;
  }

  /**
   * Runs an exchange on this connection only, and leaves the connection if the server answers that
   * another one serves the namespace. Rejects with an `ExchangeError`.
   */
  async exchangeOn<T>(connection: Connection, exchange: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await exchange(connection);
    } catch (error) {
      if (isAnswer(error, ...TRY_ANOTHER_SERVER)) this.leave(connection, error);
      throw error;
    }
  }

  /**
   * The connection takes no more requests, and those in flight still get their answers. The next
   * request goes to another server. Several requests may end with the same error: only the first
   * one moves on to the next server, so that none is skipped. Does nothing on a connection that has
   * ended.
   */
  leave(connection: Connection, error: ExchangeError): void {
    if (!connection.usable) return;
    if (this.#connection === connection && this.#endpoint !== undefined) {
      this.#connection = undefined;
      this.#record(this.#endpoint, error);
    }
    const answer = answerIn(error);
    connection.retire(answer === undefined ? error : connectionRefused(answer, error));
    this.#retired.add(connection);
    void connection.ended.then(() => this.#retired.delete(connection));
  }

  /** Ends the calls in flight and the connections, at once. Idempotent. */
  close(): void {
    if (this.closed) return;
    this.#calls.close();
    this.#closing.abort(closed(false));
    for (const connection of [this.#connection, ...this.#retired]) connection?.end(closed(true));
  }

  /**
   * After a call has timed out on a silent connection, the next calls use another connection,
   * because this one may be dead. Answers that still arrive on it are delivered.
   */
  async #exchange<T>(attempt: Attempt, connection: Connection, exchange: Exchange<T>): Promise<T> {
    const sentAtMs = this.#options.clock.monotonic();
    const removeCaller = connection.addCaller();
    try {
      return await attempt.wait(this.exchangeOn(connection, (used) => exchange(used, attempt.signal)));
    } catch (error) {
      const isTimeout = error instanceof ExchangeError && error.failure.kind === 'timeout';
      if (isTimeout && connection.lastReceivedMs <= sentAtMs)
        this.leave(connection, notConnected('silent', 'the connection was given up, because it was silent'));
      throw error;
    } finally {
      removeCaller();
    }
  }

  /**
   * Decides by what happened at a server where the next search begins: at this server if there was
   * no error, at the server that its answer names, or else after this server.
   */
  #record(endpoint: Endpoint, error?: unknown): void {
    const next = error === undefined ? endpoint : movedTo(answerIn(error)?.text ?? '', endpoint);
    this.#start = next === undefined ? { after: endpoint } : { at: next };
  }

  /** Tries one server after the other until one accepts writes. */
  async #dial(): Promise<Connection> {
    const failures: unknown[] = [];
    const tried = new Set<string>();
    try {
      for await (const endpoint of this.#options.servers.find(this.#start, this.#closing.signal)) {
        const connection = await this.#follow(endpoint, tried, failures);
        if (connection !== undefined) return connection;
      }
    } catch (error) {
      failures.push(error);
    }
    this.#closing.signal.throwIfAborted();
    throw mildestError(failures);
  }

  /**
   * Tries a server, and the servers to which it redirects. Undefined if none accepts writes; the
   * errors are then among the failures.
   */
  async #follow(first: Endpoint, tried: Set<string>, failures: unknown[]): Promise<Connection | undefined> {
    let endpoint: Endpoint | undefined = first;
    for (let left = MAX_REDIRECTIONS; endpoint !== undefined && left >= 0; left -= 1) {
      const name = endpointName(endpoint);
      if (tried.has(name)) return undefined;
      tried.add(name);
      try {
        return await this.#open(endpoint);
      } catch (error) {
        this.#closing.signal.throwIfAborted();
        failures.push(error);
        // Otherwise the next search would wait for this server first.
        if (isSilent(error)) this.#record(endpoint, error);
        endpoint = movedTo(answerIn(error)?.text ?? '', endpoint);
      }
    }
    return undefined;
  }

  /** Requests in flight still get their answers. The next one goes to the server that took over. */
  #leaveIfReplaced(connection: Connection): void {
    const { watch } = this.#options.servers;
    if (watch === undefined) return;
    const over = new AbortController();
    watch((why) => this.leave(connection, why), over.signal);
    void connection.ended.then((error) => over.abort(error));
  }

  async #open(endpoint: Endpoint): Promise<Connection> {
    const { clock, connect, dialTimeoutMs: timeoutMs, onPush } = this.#options;
    const [signal, answers] = [this.#closing.signal, this.#answers];
    const connection = await openConnection(endpoint, { clock, connect, greeting: this.#options, timeoutMs, signal, onPush, answers });
    if (this.closed) connection.end(closed(false));
    signal.throwIfAborted();
    this.#connection = connection;
    this.#endpoint = endpoint;
    this.#record(endpoint);
    void connection.ended.then((error) => {
      if (this.#connection === connection && isSilent(error)) this.#record(endpoint, error);
    });
    this.#leaveIfReplaced(connection);
    return connection;
  }
}

function closed(sent: boolean): ExchangeError {
  return new ExchangeError({ kind: 'closed', sent }, 'the store was closed');
}
