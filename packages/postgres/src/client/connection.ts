/** One connection to a server. It carries one statement at a time. */

import type { Duplex } from 'node:stream';

import type { Clock } from '@incumbent/core';
import { freeChunk, pace, type SharedAllowance } from '@incumbent/network';
import { Client, type ClientConfig, type PoolClient } from 'pg';

import { AnswerMemory } from './answer-memory.ts';
import { connectionRefused, cut, endsConnection, ExchangeError, notConnected, type ServerAnswer } from './failure.ts';
import type { Row } from './rows.ts';
import { SimpleQuery } from './simple-query.ts';
import { WholeMessages } from './whole-messages.ts';

/** The routine of the server that waits for a synchronous standby. */
const SYNC_WAIT = 'SyncRepWaitForLSN';

/** Who connects, to what. */
export interface Login {
  readonly database: string;
  readonly username: string;
  readonly password: string | undefined;
}

export interface ConnectionContext {
  readonly clock: Clock;
  /** The memory of the answers on all connections of the store. */
  readonly answers: SharedAllowance;
  /** A notification of a channel that this connection listens on. */
  readonly onNotification?: ((payload: string) => void) | undefined;
}

/** Opens connections. */
export interface ConnectionSource {
  /** Who logs in. Empty while that is not known. */
  readonly username: string;
  /** Where to. Empty while that is not known. */
  readonly database: string;
  /**
   * Resolves with a connection to a server that accepts writes. Rejects with an `ExchangeError`
   * (`notConnected`), or with the signal's reason.
   */
  open(signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Connection>;
  /** Resolves when nothing is being opened, which is soon after the signals of all have aborted. */
  idle(): Promise<void>;
}

/** A client of `pg`, which other code may have connected. */
interface Session {
  readonly client: Pick<Client, 'query' | 'on'>;
  readonly stream: Duplex;
  /** Ends the connection at once. */
  readonly destroy: () => void;
}

export class Connection {
  readonly #client: Session['client'];
  readonly #destroy: () => void;
  readonly #clock: Clock;
  readonly #ended = Promise.withResolvers<ExchangeError>();
  #error: ExchangeError | undefined;
  /** Rejects the statement that was sent last. */
  #failStatement: ((error: ExchangeError) => void) | undefined;
  readonly #memory: AnswerMemory;
  #messages: WholeMessages | undefined;
  #lastReceivedMs: number;
  #isNotReplicated = false;

  private constructor({ client, stream, destroy }: Session, { clock, answers, onNotification }: ConnectionContext) {
    this.#client = client;
    this.#destroy = destroy;
    this.#clock = clock;
    this.#memory = new AnswerMemory(answers);
    this.#lastReceivedMs = clock.monotonic();
    stream.on('close', () => this.end(cut('the server ended the connection')));
    this.#client.on('error', (error) => this.end(cut(`the connection broke: ${error.message}`, error)));
    this.#client.on('end', () => this.end(cut('the server ended the connection')));
    this.#client.on('notification', ({ payload }) => onNotification?.(payload ?? ''));
    this.#client.on('notice', (notice) => {
      if (notice.routine === SYNC_WAIT) this.#isNotReplicated = true;
    });
  }

  /**
   * Logs in on an open byte stream, which belongs to the connection from now on. Rejects with an
   * `ExchangeError` (`notConnected`).
   */
  static async login(stream: Duplex, login: Login, context: ConnectionContext): Promise<Connection> {
    const client = new Client(configOf(stream, login));
    const connection = new Connection({ client, stream, destroy: () => stream.destroy() }, context);
    try {
      const connecting = client.connect();
      connection.#readFrom(stream);
      // Rejects also when the connection ends, which `pg` may not report while it logs in.
      await Promise.race([
        connecting,
        connection.#ended.promise.then((error) => {
          throw error;
        }),
      ]);
      connection.#memory.allowLongAnswers();
      return connection;
    } catch (error) {
      const ended = connection.#error;
      connection.end(cut('the login failed'));
      // `pg` may report first that the stream was destroyed.
      throw loginFailed(ended?.failure.kind === 'malformed' ? ended : error);
    }
  }

  /**
   * Uses a client of an application's pool, which belongs to the connection from now on. The
   * connection never returns it: at its end, the pool removes the client.
   */
  static adopt(client: PoolClient, stream: Duplex, context: ConnectionContext): Connection {
    const destroy = (): void => {
      // First, so that the pool does not report the end of the stream as an error.
      client.release(true);
      // The pool only asks the server to end an idle connection.
      stream.destroy();
    };
    const connection = new Connection({ client, stream, destroy }, context);
    connection.#memory.allowLongAnswers();
    connection.#readFrom(stream);
    return connection;
  }

  /** Whether a statement can be sent. */
  get usable(): boolean {
    return this.#error === undefined;
  }

  /** Resolves when the connection ends, with the reason. Never rejects. */
  get ended(): Promise<ExchangeError> {
    return this.#ended.promise;
  }

  /** The monotonic time at which bytes last arrived. */
  get lastReceivedMs(): number {
    return this.#lastReceivedMs;
  }

  /** The process id that the server, or a pooler in front of it, gave this connection. */
  get processId(): number | undefined {
    const id: unknown = 'processID' in this.#client ? this.#client.processID : undefined;
    return typeof id === 'number' ? id : undefined;
  }

  /**
   * Runs one statement. Rejects with an `ExchangeError` (`answer`, `notReplicated`, `cut` or
   * `malformed`). No other statement may be under way.
   */
  async query(statement: string): Promise<readonly Row[]> {
    if (this.#error !== undefined) throw this.#error;
    // Notifications have taken memory since the last answer.
    this.#expectAnswer();
    this.#isNotReplicated = false;
    // Not a race with `ended`: a promise that lives as long as the connection would keep each
    // answer as long.
    const { promise, resolve, reject } = Promise.withResolvers<readonly Row[]>();
    this.#failStatement = reject;
    this.#run(statement).then(resolve, reject);
    const answer = await promise;
    if (this.#isNotReplicated)
      throw new ExchangeError({ kind: 'notReplicated' }, 'the wait for a synchronous standby was cancelled, and the commit exists here');
    return answer;
  }

  /** Ends the connection at once. Idempotent: the first reason counts. */
  end(error: ExchangeError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#messages?.close();
    this.#memory.release();
    this.#failStatement?.(error);
    this.#ended.resolve(error);
    this.#destroy();
  }

  async #run(statement: string): Promise<readonly Row[]> {
    const query = new SimpleQuery(statement, (row) => this.#bounded(() => this.#memory.takeRow(row)));
    try {
      this.#client.query(query);
      return await query.answer;
    } catch (error) {
      const answer = serverAnswerOf(error);
      const failure =
        answer === undefined
          ? cut(`the connection broke: ${error instanceof Error ? error.message : String(error)}`, error)
          : new ExchangeError({ kind: 'answer', answer }, answer.text, error);
      // No later call may use the connection, also if its end has not arrived yet.
      if (answer === undefined || endsConnection(answer)) this.end(failure);
      throw failure;
    } finally {
      this.#expectAnswer();
    }
  }

  /** What was read so far takes no memory any more, except for a message that is still arriving. */
  #expectAnswer(): void {
    this.#memory.release();
    this.#bounded(() => this.#memory.take(this.#messages?.partialBytes ?? 0));
  }

  /**
   * Runs `task` if the connection is open, and returns whether it succeeded. If `task` throws, ends
   * the connection: the server has sent too much, or something that `pg` cannot read.
   */
  #bounded(task: () => void): boolean {
    if (this.#error !== undefined) return false;
    try {
      task();
      return true;
    } catch (error) {
      const unreadable = new ExchangeError({ kind: 'malformed' }, 'the server sent a message that cannot be read', error);
      this.end(error instanceof ExchangeError ? error : unreadable);
      return false;
    }
  }

  /**
   * Reads before `pg` does, which gets whole messages only, and nothing after the end of the
   * connection. Its parser throws in a listener of the stream, which would end the process.
   */
  #readFrom(stream: Duplex): void {
    const listeners = stream.listeners('data');
    this.#messages = new WholeMessages({
      take: (bytes) => this.#memory.take(bytes),
      deliver: (messages) => {
        for (const listener of listeners) if (this.#error === undefined) Reflect.apply(listener, stream, [messages]);
      },
    });
    for (const listener of listeners) Reflect.apply(stream.off, stream, ['data', listener]);
    stream.on('data', (chunk: Uint8Array) => this.#onData(stream, chunk));
  }

  #onData(stream: Duplex, chunk: Uint8Array): void {
    this.#lastReceivedMs = this.#clock.monotonic();
    pace(stream, chunk);
    this.#bounded(() => this.#messages?.push(chunk));
    // The login keeps parts of messages until its next step.
    if (this.#memory.allowsLongAnswers) freeChunk(stream, chunk);
  }
}

/**
 * The stream is open already, so `connect` only tells `pg` to begin. What `pg` would otherwise take
 * from the environment is given, except `PGOPTIONS` and `PGREPLICATION`.
 */
function configOf(stream: Duplex, { database, username, password }: Login): ClientConfig {
  const begin = (): Duplex => {
    process.nextTick(() => stream.emit('connect'));
    return stream;
  };
  const same = (): Duplex => stream;
  return {
    host: 'localhost',
    port: 5432,
    database,
    user: username,
    password: () => password ?? '',
    application_name: 'incumbent',
    client_encoding: 'UTF8',
    ssl: false,
    sslnegotiation: 'postgres',
    stream: () => Object.assign(stream, { connect: begin, setNoDelay: same, setKeepAlive: same, ref: same, unref: same }),
  };
}

/** An application's pool may be of another version of `pg`, with a class of errors of its own. */
function serverAnswerOf(error: unknown): ServerAnswer | undefined {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return { state: error.code, text: `${error.message} (${error.code})` };
}

/** The error to throw when a client of `pg` could not connect. */
export function loginFailed(error: unknown): ExchangeError {
  const answer = serverAnswerOf(error);
  if (answer !== undefined) return connectionRefused(answer, error);
  const message = error instanceof Error ? error.message : String(error);
  if (/SASL|SCRAM|password/i.test(message))
    return connectionRefused({ state: '28000', text: 'the server requires a password, or its proof of the password is wrong' }, error);
  if (error instanceof ExchangeError && error.failure.kind !== 'cut')
    return notConnected('foreign', `the server does not speak PostgreSQL's protocol: ${message}`, error);
  const cause = error instanceof ExchangeError ? (error.cause ?? error) : error;
  return notConnected('unreachable', message, cause);
}
