/** Opens connections to the server that accepts writes. */

import type { Clock } from '@incumbent/core';
import { Attempt, type Connect, describeError, dial, type Endpoint, endpointName, type TlsOptions } from '@incumbent/network';

import { Connection, type ConnectionSource, type Login } from './connection.ts';
import { cut, ExchangeError, notConnected } from './failure.ts';
import { integerAt, onlyRow, textAt } from './rows.ts';
import { secure } from './secure.ts';

export interface DiallerOptions {
  readonly clock: Clock;
  readonly endpoints: readonly Endpoint[];
  readonly connect: Connect;
  readonly tls: TlsOptions | undefined;
  readonly login: Login;
  /** The longest time for one server to accept a connection, the login and a statement, in ms. */
  readonly dialTimeoutMs: number;
  /** Picks the error to report when every server has failed. */
  readonly pickError: (errors: readonly unknown[]) => unknown;
}

/** The first version of PostgreSQL that the statements run on. */
const MIN_VERSION = 130_000;

export class Dialler implements ConnectionSource {
  readonly #options: DiallerOptions;
  /** The index of the server to dial first: the one that served last. */
  #first = 0;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: DiallerOptions) {
    this.#options = options;
  }

  get username(): string {
    return this.#options.login.username;
  }

  /** Tries one server after the other until one accepts writes. */
  async open(signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Connection> {
    const opening = this.#openAny(signal, onNotification);
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

  async #openAny(signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Connection> {
    const { endpoints, pickError } = this.#options;
    const failures: unknown[] = [];
    for (let i = 0; i < endpoints.length; i += 1) {
      const index = (this.#first + i) % endpoints.length;
      const endpoint = endpoints[index];
      if (endpoint === undefined) continue;
      try {
        const connection = await this.#open(endpoint, signal, onNotification);
        if (signal.aborted) connection.end(cut('the store was closed'));
        signal.throwIfAborted();
        this.#first = index;
        return connection;
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
      }
    }
    throw pickError(failures);
  }

  async #open(endpoint: Endpoint, signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Connection> {
    const { clock, connect, dialTimeoutMs, login, tls } = this.#options;
    const attempt = new Attempt(clock, { timeoutMs: dialTimeoutMs, signal, background: true }, ExchangeError);
    const closing: (() => void)[] = [];
    try {
      const stream = await unreachableUnless(attempt, dial(connect, endpoint, attempt.signal));
      closing.push(() => stream.destroy());
      const secured = tls === undefined ? stream : await unreachableUnless(attempt, secure(stream, endpoint, tls, attempt.signal));
      closing.push(() => secured.destroy());
      const connection = await attempt.wait(Connection.login(secured, login, { clock, onNotification }));
      closing.push(() => connection.end(cut('the connection was given up')));
      await attempt.wait(checkServer(connection));
      return connection;
    } catch (error) {
      for (const close of closing) close();
      throw withEndpoint(endpoint, error, dialTimeoutMs);
    } finally {
      attempt.end();
    }
  }
}

async function unreachableUnless<T>(attempt: Attempt, opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    if (attempt.signal.aborted || error instanceof ExchangeError) throw error;
    throw notConnected('unreachable', describeError(error), error);
  }
}

/** A standby would refuse every call, and an old server would lack what the statements use. */
export async function checkServer(connection: Connection): Promise<void> {
  let rows;
  try {
    rows = await connection.query("SELECT pg_is_in_recovery(), current_setting('server_version_num')");
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    const { failure } = error;
    const refused = failure.kind === 'answer' ? { answer: failure.answer } : {};
    throw new ExchangeError(
      { kind: 'notConnected', why: failure.kind === 'answer' ? 'refused' : 'unreachable', ...refused },
      error.message,
      error,
    );
  }
  const row = onlyRow(rows);
  const version = integerAt(row, 1);
  if (version < MIN_VERSION)
    throw notConnected('foreign', `the server is PostgreSQL ${Math.floor(version / 10_000)}; version 13 or newer is needed`);
  if (textAt(row, 0) === 't') throw notConnected('standby', 'the server is a standby, which accepts no writes');
}

/** Puts the address into the message, because there may be several servers. */
function withEndpoint(endpoint: Endpoint, error: unknown, timeoutMs: number): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message, cause } = error;
  if (failure.kind === 'timeout')
    return notConnected(
      'silent',
      `${endpointName(endpoint)}: no answer within ${timeoutMs} ms; a server that is not PostgreSQL may do this`,
    );
  return failure.kind === 'notConnected' ? new ExchangeError(failure, `${endpointName(endpoint)}: ${message}`, cause) : error;
}
