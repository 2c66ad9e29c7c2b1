/** How an exchange with an agent failed, in the terms of the exchange. What it means for a call stands in `errors.ts`. */

import type { Over } from '@incumbent/network';

export type Failure =
  /** No connection, so nothing was sent. */
  | { readonly kind: 'notConnected' }
  /** The connection went, or what came over it was no HTTP, after the request was sent. */
  | { readonly kind: 'cut' }
  /** No answer within the time there was, or the store was closed meanwhile. */
  | Over
  /** An answer that is no success. */
  | { readonly kind: 'status'; readonly status: number; readonly text: string }
  /** A success whose content cannot be understood. */
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
