/** How an exchange with a server failed: what was seen, before anyone says what it means. `errors.ts` judges. */

import type { Over } from '@incumbent/network';

import type { ErrorReply } from './resp.ts';

/** Why there is no connection. Nothing was sent on it but what opens it. */
export type NotConnectedReason =
  /** No byte stream came about, or it broke before the server said anything: the cause is what the system or TLS says. */
  | 'unreachable'
  /** The server accepted, and then said nothing in time. */
  | 'silent'
  /** What answered is no Redis, or one that is too old. */
  | 'foreign'
  /** It follows another server, and takes no writes. */
  | 'replica'
  /** It answered with an error: the `answer` has it. */
  | 'turnedAway';

export type Failure =
  | { readonly kind: 'notConnected'; readonly why: NotConnectedReason; readonly answer?: ErrorReply }
  /** The server answered with an error. */
  | { readonly kind: 'answer'; readonly answer: ErrorReply }
  /** The connection ended before the answer came. */
  | { readonly kind: 'cut' }
  /** The answer could not be understood. */
  | { readonly kind: 'malformed' }
  /** No answer within the time there was, or the store was closed meanwhile. */
  | Over;

export class ExchangeError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ExchangeError';
    this.failure = failure;
  }
}

/** What ends an attempt. */
export const callOver: typeof ExchangeError = ExchangeError;

export function answeredWith(answer: ErrorReply): ExchangeError {
  return new ExchangeError({ kind: 'answer', answer }, answer.text);
}

export function notConnected(why: NotConnectedReason, message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why }, message, cause);
}

/** A server's answer, as the reason why there is no connection to it any more. */
export function turnedAway(answer: ErrorReply, cause: ExchangeError): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why: 'turnedAway', answer }, cause.message, cause);
}

type Answered = ExchangeError & { readonly failure: Extract<Failure, { readonly kind: 'answer' }> };

/** Whether the server answered with an error of one of these codes. */
export function isAnswer(error: unknown, ...codes: readonly string[]): error is Answered {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'answer') return false;
  return codes.includes(error.failure.answer.code);
}
