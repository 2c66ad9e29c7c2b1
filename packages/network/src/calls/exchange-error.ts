/** How one exchange with a server failed. The adapter's `errors.ts` decides what that means. */

/** Why a call ended without an answer. `sent`: whether a server may have the request. */
export type Over = { readonly kind: 'timeout'; readonly sent: boolean } | { readonly kind: 'closed'; readonly sent: boolean };

/** The failures that every protocol has. {@link judgeCommon} maps them to a code and an outcome. */
export type CommonFailure =
  /** The connection ended before the answer arrived. */
  | { readonly kind: 'cut' }
  /** The answer cannot be decoded. */
  | { readonly kind: 'malformed' }
  | Over;

/**
 * The base of an adapter's error for a failed exchange. The adapter lists its own failures, such as
 * an error status, beside the common ones, and extends this class once:
 *
 * ```ts
 * export type Failure = CommonFailure | { readonly kind: 'status'; readonly status: number };
 * export class ExchangeError extends FailedExchange<Failure> {}
 * ```
 *
 * The class of its own lets `instanceof` narrow an unknown error to the adapter's failures.
 */
export class FailedExchange<Failure extends { readonly kind: string }> extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ExchangeError';
    this.failure = failure;
  }
}

/** The adapter's `ExchangeError`, for code that ends calls in the name of the adapter. */
export type OverErrorClass = new (failure: Over, message: string) => Error;
