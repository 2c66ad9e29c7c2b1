/** How an exchange with a server failed. `errors.ts` decides which code and outcome that is. */

import { FailedExchange, type CommonFailure } from '@incumbent/network';

/** An error that the server reported. */
export interface ServerAnswer {
  /** The SQLSTATE: five digits and capitals. */
  readonly state: string;
  readonly text: string;
}

/** Why there is no connection. No call was sent. */
export type NotConnectedReason =
  /**
   * No byte stream opened, or it broke before the server answered. The cause is the error of the
   * system or of TLS.
   */
  | 'unreachable'
  /** The server accepted the connection and did not answer in time. */
  | 'silent'
  /** The application's pool has given no connection in time. */
  | 'exhausted'
  /** The server is not PostgreSQL, is too old, or does not speak TLS. */
  | 'foreign'
  /** The server is a standby, which accepts no writes. */
  | 'standby'
  /** The server answered with an error: see `answer`. */
  | 'refused';

export type Failure =
  | CommonFailure
  | { readonly kind: 'notConnected'; readonly why: NotConnectedReason; readonly answer?: ServerAnswer }
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
