/** How an exchange with a server failed: what was seen, before anyone says what it means. `errors.ts` judges. */

import type { Over } from '@incumbent/network';

import { codeName, type CodeName, Code } from '../protocol/codes.ts';

/** Why there is no connection. Nothing was sent on it but what opens a session. */
export type NotConnectedReason =
  /** No byte stream came about, or it broke before the server said anything: the cause is what the system or TLS says. */
  | 'unreachable'
  /** The server accepted, and then said nothing in time. */
  | 'silent'
  /** What answered is no ZooKeeper. */
  | 'foreign'
  /** The server ended the connection in place of an answer, as one does that is read-only, has no quorum, or is behind what this client has seen. */
  | 'turnedAway'
  /** The server has lost its quorum and would only serve reads. */
  | 'readOnly'
  /** The server does not accept the identity that was shown to it. */
  | 'authFailed';

export type Failure =
  | { readonly kind: 'notConnected'; readonly why: NotConnectedReason }
  /** The server answered with a code other than OK. */
  | { readonly kind: 'code'; readonly code: number }
  /** The connection ended before the answer came. */
  | { readonly kind: 'cut' }
  /** The answer could not be understood. */
  | { readonly kind: 'malformed' }
  /** No answer within the time there was, or the store was closed meanwhile. */
  | Over
  /**
   * The session is over, and this was not sent. `server`: it said so, and all that lived by the session is gone. `clock`: no server could be
   * reached for as long as the session lasts, so it was given up; servers that were away themselves may keep it for longer.
   */
  | { readonly kind: 'expired'; readonly by: 'server' | 'clock' }
  /** Too long for any server to take; not sent. */
  | { readonly kind: 'tooLarge' };

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

export function answeredWith(code: number): ExchangeError {
  return new ExchangeError({ kind: 'code', code }, `the server answered ${codeName(code)}`);
}

export function notConnected(why: NotConnectedReason, message: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'notConnected', why }, message, cause);
}

export function closedSession(sent: boolean): ExchangeError {
  return new ExchangeError({ kind: 'closed', sent }, 'the session was closed');
}

/** Whether the server answered with one of these codes. */
export function isCode(error: unknown, ...names: readonly CodeName[]): error is ExchangeError {
  if (!(error instanceof ExchangeError) || error.failure.kind !== 'code') return false;
  const { code } = error.failure;
  return names.some((name) => Code[name] === code);
}
