/** Why the store could not use a server. No call was sent. */

import type { FailedExchange } from '../calls/exchange-error.ts';
import { type Endpoint, endpointName } from '../connect/endpoint.ts';
import { UNFORESEEN } from './store-errors.ts';
import { judgeSocket, type Verdict } from './verdict.ts';

/** Why the server cannot be used. */
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
  /** The server is another program or too old, or it does not speak TLS. */
  | 'foreign'
  /** The server follows another one, and accepts no writes. */
  | 'follower'
  /** The server is a former primary: a standby of it was promoted. */
  | 'replaced'
  /** The server answered with an error: see `answer`. */
  | 'refused';

/** The failure of an exchange for which there is no connection. */
export interface NotConnected<Answer> {
  readonly kind: 'notConnected';
  readonly why: NotConnectedReason;
  readonly answer?: Answer;
}

/** The verdict on it. `cause` is that of the error, and `judgeAnswer` the verdict on `refused`. */
export function judgeNotConnected<Answer>(
  { why, answer }: NotConnected<Answer>,
  cause: unknown,
  judgeAnswer: (answer: Answer) => Verdict,
): Verdict {
  switch (why) {
    case 'unreachable':
      return judgeSocket(cause);
    case 'silent':
      return ['UNREACHABLE', 'notSent'];
    case 'exhausted':
      // The application may return a connection at any moment.
      return ['UNAVAILABLE', 'notSent'];
    case 'follower':
    case 'replaced':
      // A follower may be promoted at any moment.
      return ['UNAVAILABLE', 'notSent'];
    case 'foreign':
      return ['UNSUPPORTED', 'refused'];
    case 'refused':
      return answer === undefined ? UNFORESEEN : judgeAnswer(answer);
    default:
      return why satisfies never;
  }
}

/** What an attempt to connect was. */
export interface ConnectAttempt {
  readonly endpoint: Endpoint;
  /** How long the server had to answer, in ms. */
  readonly timeoutMs: number;
  /** Which mistake makes a server silent. Completes the message of a timeout. */
  readonly hint: string;
}

/** The adapter's `ExchangeError`, whose failures include {@link NotConnected}. */
interface ExchangeErrorClass<Failure extends { readonly kind: string }> {
  new (failure: Failure, message: string, cause?: unknown): FailedExchange<Failure>;
  new (failure: NotConnected<never>, message: string): FailedExchange<Failure>;
}

/**
 * The error of an attempt to connect, with the server's address in the message, because a store may
 * have several servers. A timeout becomes `silent`: no call was sent. Other errors are unchanged,
 * and so are those whose message has the address.
 */
export function namingEndpoint<Failure extends { readonly kind: string }>(
  ExchangeError: ExchangeErrorClass<Failure>,
  error: unknown,
  { endpoint, timeoutMs, hint }: ConnectAttempt,
): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message, cause } = error;
  const server = endpointName(endpoint);
  if (failure.kind === 'timeout')
    return new ExchangeError({ kind: 'notConnected', why: 'silent' }, `${server}: no answer within ${timeoutMs} ms; ${hint}`);
  const named = ofServer(server, message);
  return failure.kind !== 'notConnected' || named === message ? error : new ExchangeError(failure, named, cause);
}

/**
 * The message of an error with the server's name in front, unless the message contains the name:
 * Node names the address of a connection that it could not open, if it is no host name.
 */
export function ofServer(server: string, message: string): string {
  return message.includes(server) ? message : `${server}: ${message}`;
}
