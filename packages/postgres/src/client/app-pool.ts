/** Connections from a pool of the application. */

import type { Duplex } from 'node:stream';

import type { Clock } from '@incumbent/core';
import { Attempt } from '@incumbent/network';
import type { PoolClient } from 'pg';

import type { PostgresPool } from '../pool-option.ts';
import { answersOfStore } from './answer-memory.ts';
import { Connection, type ConnectionSource, loginFailed } from './connection.ts';
import { checkServer } from './dialer.ts';
import { answerIn, connectionRefused, cut, endsConnection, ExchangeError, isTimeout, notConnected } from './failure.ts';

export interface AppPoolOptions {
  readonly clock: Clock;
  readonly pool: PostgresPool;
  /** How long the pool may take to give a connection, in ms. */
  readonly timeoutMs: number;
}

/** A connection of the pool that does not answer an empty statement within this time is dead. */
const SILENT_MS = 500;

export class AppPool implements ConnectionSource {
  readonly #options: AppPoolOptions;
  readonly #answers = answersOfStore();
  readonly #underWay = new Set<Promise<unknown>>();
  /**
   * Requests to the pool that timed out or were aborted. The next attempt waits for one of them, so
   * it keeps its place in the pool's queue.
   */
  readonly #overdue = new Set<Promise<unknown>>();
  #username = '';
  #database = '';

  constructor(options: AppPoolOptions) {
    this.#options = options;
  }

  get username(): string {
    return this.#username;
  }

  get database(): string {
    return this.#database;
  }

  async open(signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Connection> {
    const opening = this.#open(signal, onNotification);
    this.#underWay.add(opening);
    try {
      return await opening;
    } finally {
      this.#underWay.delete(opening);
    }
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #open(signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Connection> {
    const { clock, timeoutMs } = this.#options;
    const attempt = new Attempt(clock, { timeoutMs, signal, background: true }, ExchangeError);
    try {
      for (;;) {
        const connection = this.#adopt(await this.#take(attempt), onNotification);
        try {
          if (!(await this.#isAlive(connection, attempt))) continue;
          await attempt.wait(checkServer(connection));
          return connection;
        } catch (error) {
          connection.end(cut('the connection was given up'));
          throw isTimeout(error) ? notConnected('silent', `no answer within ${timeoutMs} ms`) : error;
        }
      }
    } finally {
      attempt.end();
    }
  }

  #adopt(taken: unknown, onNotification: ((payload: string) => void) | undefined): Connection {
    const { client, stream } = usableSession(taken);
    // The pool keeps the process alive while a client is in use. Calls do that themselves.
    unref(stream);
    if ('user' in client && typeof client.user === 'string') this.#username = client.user;
    if ('database' in client && typeof client.database === 'string') this.#database = client.database;
    return Connection.adopt(client, stream, { clock: this.#options.clock, answers: this.#answers, onNotification });
  }

  /**
   * Ends a transaction that another user of the pool has left open. False: the connection has ended
   * or does not answer, as one that the pool has kept for too long. The pool has removed it now.
   * Rejects if the server refuses the statement, as a pooler does that cannot reach its server.
   */
  async #isAlive(connection: Connection, { signal }: Attempt): Promise<boolean> {
    const attempt = new Attempt(this.#options.clock, { timeoutMs: SILENT_MS, signal, background: true }, ExchangeError);
    try {
      await attempt.wait(connection.query('ROLLBACK'));
      return true;
    } catch (error) {
      signal.throwIfAborted();
      connection.end(cut('the connection does not answer', error));
      const refusal = answerIn(error);
      if (refusal === undefined || endsConnection(refusal)) return false;
      throw connectionRefused(refusal, error);
    } finally {
      attempt.end();
    }
  }

  async #take(attempt: Attempt): Promise<unknown> {
    const { pool, timeoutMs } = this.#options;
    const [overdue] = this.#overdue;
    const taken = overdue ?? pool.connect();
    this.#overdue.delete(taken);
    try {
      return await attempt.wait(taken);
    } catch (error) {
      if (!attempt.signal.aborted) throw isExhausted(error) ? notConnected('exhausted', GAVE_NONE, error) : loginFailed(error);
      this.#returnLate(taken);
      throw isTimeout(error) ? notConnected('exhausted', `the pool has given no connection within ${timeoutMs} ms`) : error;
    }
  }

  /** Returns what the pool gives later, unless the next attempt waits for it. */
  #returnLate(taken: Promise<unknown>): void {
    this.#overdue.add(taken);
    const release = (client: unknown): void => {
      if (this.#overdue.delete(taken) && isPoolClient(client)) client.release();
    };
    taken.then(release, () => this.#overdue.delete(taken));
  }
}

const GAVE_NONE = 'the pool has given no connection within its connectionTimeoutMillis';

/**
 * Whether all connections were in use for longer than the pool's `connectionTimeoutMillis`. The
 * error has no code. The message is another one if a server has not answered in that time.
 */
function isExhausted(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

/** A stream that the application has made for `pg` may lack the method. */
function unref(stream: Duplex & { readonly unref?: () => unknown }): void {
  stream.unref?.();
}

interface PooledSession {
  readonly client: PoolClient;
  readonly stream: Duplex;
}

/** As {@link sessionOf}, and gives a client that it refuses back to the pool. */
function usableSession(taken: unknown): PooledSession {
  try {
    return sessionOf(taken);
  } catch (error) {
    if (isPoolClient(taken)) taken.release();
    throw error;
  }
}

/**
 * Throws an `ExchangeError` (`notConnected`) for a client that does not come from a pool of `pg`.
 */
function sessionOf(client: unknown): PooledSession {
  if (!isPoolClient(client)) throw notConnected('foreign', 'the pool gives clients that are not of the package pg');
  const { connection }: { connection?: unknown } = client;
  if (!isObject(connection) || !('stream' in connection) || !isStream(connection.stream))
    throw notConnected('foreign', 'the pool gives clients without a stream, as those of pg-native are');
  if ('binary' in client && client.binary === true) throw notConnected('foreign', 'the pool reads results in the binary format');
  if (client.pipeline) throw notConnected('foreign', 'the pool sends statements in a pipeline');
  return { client, stream: connection.stream };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isPoolClient(client: unknown): client is PoolClient & { readonly connection?: unknown } {
  return isObject(client) && ['query', 'on', 'release'].every((name) => name in client && typeof Reflect.get(client, name) === 'function');
}

function isStream(stream: unknown): stream is Duplex {
  return isObject(stream) && ['on', 'write', 'destroy'].every((name) => name in stream && typeof Reflect.get(stream, name) === 'function');
}
