/** How an exchange with a server failed. `errors.ts` decides which code and outcome that is. */

import { type CommonFailure, FailedExchange, type NotConnected, type NotConnectedReason } from '@incumbent/network';

import type { ErrorReply } from './resp.ts';

export type Failure =
  | CommonFailure
  | NotConnected<ErrorReply>
  /** The server answered with an error. */
  | { readonly kind: 'answer'; readonly answer: ErrorReply };

export class ExchangeError extends FailedExchange<Failure> {}

export function malformed(): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, 'the answer cannot be read');
}

export function answeredWith(answer: ErrorReply): ExchangeError {
  return new ExchangeError({ kind: 'answer', answer }, answer.text);
}

export function notConnected(why: NotConnectedReason, message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why }, message, cause);
}

/** Replaces the text of a refusal of HELLO that has no text of its own. */
export const HELLO_REFUSED = 'ERR the server refused the command HELLO';

/** The server's answer is the reason why there is no connection to it. */
export function connectionRefused(answer: ErrorReply, cause: ExchangeError): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why: 'refused', answer }, cause.message, cause);
}

type Answered = ExchangeError & { readonly failure: Extract<Failure, { readonly kind: 'answer' }> };

/** Whether the server answered with an error of one of these codes. */
export function isAnswer(error: unknown, ...codes: readonly string[]): error is Answered {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'answer') return false;
  return codes.includes(error.failure.answer.code);
}

/** The error with which a server answered, also if it is the reason why there is no connection. */
export function answerIn(error: unknown): ErrorReply | undefined {
  if (!(error instanceof ExchangeError)) return undefined;
  const { failure } = error;
  return failure.kind === 'answer' || failure.kind === 'notConnected' ? failure.answer : undefined;
}

/** Whether the server did not answer in time, or the connection ended for that reason. */
export function isSilent(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  const { failure, cause } = error;
  return (failure.kind === 'notConnected' && failure.why === 'silent') || isSilent(cause);
}
