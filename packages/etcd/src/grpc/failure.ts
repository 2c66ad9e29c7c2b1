/** How an exchange with a server failed: what was seen, before anyone says what it means. `errors.ts` judges. */

import type { Over } from '@incumbent/network';

export type Failure =
  /** No connection could be made; nothing was sent. */
  | { readonly kind: 'notConnected' }
  /** The server said that it never began this request. */
  | { readonly kind: 'streamRefused' }
  /** The connection, or the stream, ended before the answer did. */
  | { readonly kind: 'cut' }
  /** The server answered with a gRPC status other than OK. */
  | { readonly kind: 'status'; readonly status: number; readonly reason: string }
  /** The answer is HTTP but not gRPC: a proxy's, or another server's. */
  | { readonly kind: 'http'; readonly httpStatus: number }
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
