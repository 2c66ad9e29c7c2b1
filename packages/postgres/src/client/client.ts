/**
 * Calls to the server. Each call is one attempt, bounded in time: a statement is never sent twice.
 */

import type { Clock } from '@incumbent/core';
import { type AttemptOptions, type Attempt, Calls } from '@incumbent/network';

import type { Connection, ConnectionSource } from './connection.ts';
import { cut, ExchangeError, hung, isAnswer, isTimeout } from './failure.ts';
import { Pool } from './pool.ts';
import type { Row } from './rows.ts';
import { RAISED } from '../schema/functions.ts';

export interface CallOptionsOfClient extends AttemptOptions {
  /** A renewal: does not wait for calls that wait for a lock. Default false. */
  readonly urgent?: boolean;
  /** Called just before the statement is sent. */
  readonly onSend?: () => void;
}

/**
 * The server gives up a lock after this part of the call's time limit, so that its answer, which is
 * a certain no, arrives before the limit.
 */
const SERVER_SHARE = 0.8;

/**
 * How long after a call's time limit its connection ends, in ms. The call itself reports its
 * timeout first.
 */
const AFTER_TIMEOUT_MS = 50;

/** After these answers, the next call dials anew: the server is a standby. */
const IS_STANDBY = [RAISED.standby, '25006'];

export class Client {
  readonly #clock: Clock;
  readonly #calls: Calls;
  readonly #pool: Pool;
  readonly #source: ConnectionSource;

  constructor(source: ConnectionSource, clock: Clock) {
    this.#clock = clock;
    this.#calls = new Calls(clock, ExchangeError);
    this.#pool = new Pool(source, clock);
    this.#source = source;
  }

  get closed(): boolean {
    return this.#calls.closed;
  }

  /**
   * Runs one statement, which `statementOf` makes for the time limit of its locks in ms, and for
   * the process id of its connection. Rejects with an `ExchangeError`, or with the signal's reason.
   */
  call(statementOf: (lockTimeoutMs: number, processId: number) => string, options: CallOptionsOfClient): Promise<readonly Row[]> {
    const { urgent = false, timeoutMs, onSend } = options;
    const beganMs = this.#clock.monotonic();
    return this.#calls.run(options, async (attempt) => {
      const connection = await this.#pool.take(urgent, attempt.signal);
      const leftMs = timeoutMs - (this.#clock.monotonic() - beganMs);
      if (attempt.signal.aborted) this.#pool.release(connection);
      attempt.signal.throwIfAborted();
      attempt.sent = true;
      onSend?.();
      return this.#run(attempt, connection, statementOf(Math.max(Math.floor(leftMs * SERVER_SHARE), 1), connection.processId ?? 0), leftMs);
    });
  }

  /**
   * Ends the calls in flight and the connections, at once. Resolves when the connections that were
   * being opened have ended, too. Idempotent.
   */
  async close(): Promise<void> {
    this.#calls.close();
    this.#pool.close();
    await this.#source.idle();
  }

  async #run(attempt: Attempt, connection: Connection, statement: string, leftMs: number): Promise<readonly Row[]> {
    const sentAtMs = this.#clock.monotonic();
    const answer = connection.query(statement);
    void this.#release(connection, answer, leftMs);
    try {
      return await attempt.wait(answer);
    } catch (error) {
      if (isTimeout(error)) {
        connection.end(hung());
        this.#pool.distrust(sentAtMs);
      }
      throw error;
    }
  }

  /**
   * Returns the connection to the pool when it is free. A call that was aborted leaves its
   * statement under way, for as long as the call might have taken.
   */
  async #release(connection: Connection, answer: Promise<unknown>, withinMs: number): Promise<void> {
    const cancel = this.#clock.schedule(withinMs + AFTER_TIMEOUT_MS, () => connection.end(hung()));
    try {
      await answer;
    } catch (error) {
      if (isAnswer(error, ...IS_STANDBY)) connection.end(cut('the server is a standby'));
    } finally {
      cancel();
      this.#pool.release(connection);
    }
  }
}
