/** How an exchange with a server failed. `errors.ts` decides which code and outcome that is. */

import { type CommonFailure, FailedExchange, type NotConnected, type NotConnectedReason } from '@incumbent/network';

/** An error that the server reported. */
export interface ServerAnswer {
  /** The SQLSTATE: five digits and capitals. */
  readonly state: string;
  readonly text: string;
}

/**
 * SQLSTATEs with which a server ends a connection: its own end (57P01, 57P02), the end of the
 * database (57P04), and the limits of the time of a session (57P05) and of a transaction (25P03,
 * 25P04).
 */
const ENDS_CONNECTION = /^(57P0[1245]|25P0[34])$/;

/** Whether the server ends the connection after this answer. Its end may arrive later. */
export function endsConnection({ state }: ServerAnswer): boolean {
  return ENDS_CONNECTION.test(state);
}

export type Failure =
  | CommonFailure
  | NotConnected<ServerAnswer>
  /** The server answered with an error. `errors.ts` decides whether the statement was undone. */
  | { readonly kind: 'answer'; readonly answer: ServerAnswer }
  /** The wait for a synchronous standby was cancelled, so the standby may lack the commit. */
  | { readonly kind: 'notReplicated' };

export class ExchangeError extends FailedExchange<Failure> {}

export function malformed(): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, 'the answer cannot be read');
}

export function cut(message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, message, cause);
}

/** The server has not answered a statement in time. The next connection is to another server. */
export function hung(): ExchangeError {
  return new ExchangeError({ kind: 'timeout', sent: true }, 'the connection was given up after a timeout');
}

export function notConnected(why: NotConnectedReason, message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why }, message, cause);
}

/** The server's answer is the reason why there is no connection to it. */
export function connectionRefused(answer: ServerAnswer, cause: unknown): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why: 'refused', answer }, answer.text, cause);
}

/** Whether the server answered with an error of one of these SQLSTATEs. */
export function isAnswer(error: unknown, ...states: readonly string[]): error is ExchangeError {
  return error instanceof ExchangeError && error.failure.kind === 'answer' && states.includes(error.failure.answer.state);
}

/** The error with which the server answered a statement. Undefined for any other failure. */
export function answerIn(error: unknown): ServerAnswer | undefined {
  return error instanceof ExchangeError && error.failure.kind === 'answer' ? error.failure.answer : undefined;
}

/** Whether the time of a call or of an attempt to connect was over. */
export function isTimeout(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'timeout';
}
