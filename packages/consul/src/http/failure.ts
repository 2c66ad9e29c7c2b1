/** How an exchange with an agent failed, in the terms of the exchange. What it means for a call stands in `errors.ts`. */

export type Failure =
  /** No connection, so nothing was sent. */
  | { readonly kind: 'notConnected' }
  /** The connection went, or what came over it was no HTTP, after the request was sent. */
  | { readonly kind: 'cut' }
  /** The time was up. */
  | { readonly kind: 'timeout'; readonly sent: boolean }
  /** The store was closed. */
  | { readonly kind: 'closed'; readonly sent: boolean }
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
