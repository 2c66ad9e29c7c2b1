/** How an exchange with an agent failed. `errors.ts` says what a failure means for a call. */

import type { Over } from '@incumbent/network';

export type Failure =
  /** There was no connection, so nothing was sent. */
  | { readonly kind: 'notConnected' }
  /** After the request was sent, the connection closed, or the response was not HTTP. */
  | { readonly kind: 'cut' }
  /** The time was up, or the store was closed. */
  | Over
  /** The response has an unexpected status. */
  | { readonly kind: 'status'; readonly status: number; readonly text: string }
  /** The response has an expected status, and its content cannot be read. */
  | { readonly kind: 'malformed' };

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
