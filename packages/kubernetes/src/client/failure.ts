/** How an exchange with an API server failed. `errors.ts` says what a failure means for a call. */

import { type CommonFailure, FailedExchange } from '@incumbent/network';

export type Failure =
  /** `cut` includes a response that is not HTTP. `malformed` is one whose content cannot be read. */
  | CommonFailure
  /** There was no connection or there were no credentials, so nothing was sent. */
  | { readonly kind: 'notConnected' }
  /** The response has an unexpected status. */
  | { readonly kind: 'status'; readonly status: number; readonly reason: string };

export class ExchangeError extends FailedExchange<Failure> {}
