/**
 * Opens connections to the server that accepts writes.
 *
 * After a failover, the former primary may still accept connections. If its standby was
 * synchronous, the former primary acknowledges no commit any more, but answers reads with outdated
 * data. After a call has timed out on a server, the dialer tries that server last. It also refuses
 * a primary whose timeline is older than one that it has seen.
 */

import type { Clock } from '@incumbent/core';
import {
  Attempt,
  type Connect,
  describeError,
  dial,
  type Endpoint,
  namingEndpoint,
  openFirst,
  startingAt,
  type TlsOptions,
} from '@incumbent/network';

import { mildestError } from '../errors.ts';
import { answersOfStore } from './answer-memory.ts';
import { Connection, type ConnectionSource, type Login } from './connection.ts';
import { cut, ExchangeError, notConnected } from './failure.ts';
import { integerAt, onlyRow, textAt } from './rows.ts';
import { secure } from './secure.ts';

export interface DialerOptions {
  readonly clock: Clock;
  readonly endpoints: readonly Endpoint[];
  readonly connect: Connect;
  readonly tls: TlsOptions | undefined;
  readonly login: Login;
  /** The longest time for one server to accept a connection, the login and a statement, in ms. */
  readonly dialTimeoutMs: number;
}

/** The first version of PostgreSQL that the statements run on. */
const MIN_VERSION = 130_000;

/**
 * How long a primary of an older timeline is refused after the last connection to a newer one.
 * Longer than a restart of the new primary takes. Not for ever: an operator may discard the new
 * primary, for instance after a promotion by mistake.
 */
const REFUSES_OLDER_MS = 300_000;

/** The history of a server: a promoted standby begins a new one with a higher number. */
interface Timeline {
  readonly number: number;
  /** Differs between servers that do not share a history. */
  readonly system: string;
}

interface Opened {
  readonly connection: Connection;
  readonly endpoint: Endpoint;
  readonly timeline: Timeline;
}

export class Dialer implements ConnectionSource {
  readonly #options: DialerOptions;
  readonly #answers = answersOfStore();
  /** The index of the server to dial first: the one that served last, if it does not hang. */
  #first = 0;
  /** The newest timeline, and when a connection to it last opened or ended. */
  #newest: (Timeline & { readonly atMs: number }) | undefined;
  readonly #opened = new Set<Opened>();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  get username(): string {
    return this.#options.login.username;
  }

  get database(): string {
    return this.#options.login.database;
  }

  /**
   * Dials the servers, each one 250 ms after the one before or when that one fails, until one
   * accepts writes. Rejects with an `ExchangeError` (`notConnected`), or with the signal's reason.
   */
  async open(signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Connection> {
    const { clock, endpoints } = this.#options;
    const failures: unknown[] = [];
    const open = async (endpoint: Endpoint, dialling: AbortSignal): Promise<Opened> => {
      const opening = this.#open(endpoint, dialling, onNotification);
      this.#underWay.add(opening);
      try {
        return await opening;
      } catch (error) {
        failures.push(error);
        throw error;
      } finally {
        this.#underWay.delete(opening);
      }
    };
    try {
      const opened = await openFirst(startingAt(endpoints, this.#first), {
        clock,
        signal,
        open,
        discard: ({ connection }) => connection.end(cut('another server was faster')),
      });
      if (signal.aborted) opened.connection.end(cut('the store was closed'));
      signal.throwIfAborted();
      return this.#keep(opened);
    } catch (error) {
      signal.throwIfAborted();
      throw failures.length === 0 ? error : mildestError(failures);
    }
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** Ends the connections to servers that this one has replaced. */
  #keep(opened: Opened): Connection {
    const { connection, endpoint, timeline } = opened;
    const index = this.#options.endpoints.indexOf(endpoint);
    for (const other of this.#opened)
      if (isOlder(other.timeline, timeline)) other.connection.end(cut('a standby of this server has become the primary'));
    this.#first = index;
    this.#see(timeline);
    this.#opened.add(opened);
    void connection.ended.then(({ failure }) => {
      this.#opened.delete(opened);
      if (this.#newest?.number === timeline.number) this.#see(timeline);
      if (failure.kind === 'timeout' && this.#first === index) this.#first = (index + 1) % this.#options.endpoints.length;
    });
    return connection;
  }

  #see(timeline: Timeline): void {
    this.#newest = { ...timeline, atMs: this.#options.clock.monotonic() };
  }

  #checkTimeline(timeline: Timeline): void {
    const newest = this.#newest;
    if (newest === undefined || !isOlder(timeline, newest)) return;
    if (this.#options.clock.monotonic() - newest.atMs >= REFUSES_OLDER_MS) return;
    throw notConnected('replaced', `the server is a former primary: its timeline is ${timeline.number}, and ${newest.number} was seen`);
  }

  async #open(endpoint: Endpoint, signal: AbortSignal, onNotification?: (payload: string) => void): Promise<Opened> {
    const { clock, connect, dialTimeoutMs, login, tls } = this.#options;
    const attempt = new Attempt(clock, { timeoutMs: dialTimeoutMs, signal, background: true }, ExchangeError);
    const closing: (() => void)[] = [];
    try {
      const stream = await unreachableUnless(attempt, dial(connect, endpoint, attempt.signal));
      closing.push(() => stream.destroy());
      const secured = tls === undefined ? stream : await unreachableUnless(attempt, secure(stream, endpoint, tls, attempt.signal));
      closing.push(() => secured.destroy());
      const connection = await attempt.wait(Connection.login(secured, login, { clock, answers: this.#answers, onNotification }));
      closing.push(() => connection.end(cut('the connection was given up')));
      const timeline = await attempt.wait(checkServer(connection));
      this.#checkTimeline(timeline);
      return { connection, endpoint, timeline };
    } catch (error) {
      for (const close of closing) close();
      const hint = 'a server that is not PostgreSQL may do this';
      throw namingEndpoint(ExchangeError, error, { endpoint, timeoutMs: dialTimeoutMs, hint });
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

function isOlder(one: Timeline, other: Timeline): boolean {
  return one.system === other.system && one.number < other.number;
}

const [IS_STANDBY, VERSION, TIMELINE, SYSTEM] = [0, 1, 2, 3] as const;
const SERVER = `SELECT pg_is_in_recovery(), current_setting('server_version_num'),
  CASE WHEN NOT pg_is_in_recovery() THEN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint END,
  (SELECT system_identifier FROM pg_control_system())`;
/** There is no such function. */
const MISSING = '42883';

/**
 * Returns the history of a primary. A standby would refuse every call, and an old server would lack
 * what the statements use.
 */
export async function checkServer(connection: Connection): Promise<Timeline> {
  let rows;
  try {
    rows = await connection.query(SERVER);
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    const { failure } = error;
    if (failure.kind === 'answer' && failure.answer.state === MISSING)
      throw notConnected('foreign', 'the server is older than PostgreSQL 10; version 13 or newer is needed');
    const refused = failure.kind === 'answer' ? { answer: failure.answer } : {};
    throw new ExchangeError(
      { kind: 'notConnected', why: failure.kind === 'answer' ? 'refused' : 'unreachable', ...refused },
      error.message,
      error,
    );
  }
  const row = onlyRow(rows);
  const version = integerAt(row, VERSION);
  if (version < MIN_VERSION)
    throw notConnected('foreign', `the server is PostgreSQL ${Math.floor(version / 10_000)}; version 13 or newer is needed`);
  if (textAt(row, IS_STANDBY) === 't') throw notConnected('follower', 'the server is a standby, which accepts no writes');
  return { number: integerAt(row, TIMELINE), system: textAt(row, SYSTEM) };
}
