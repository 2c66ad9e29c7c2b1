/** How an exchange with an agent failed. `errors.ts` says what a failure means for a call. */

import { FailedExchange, type HttpFailure } from '@incumbent/network';

export type Failure =
  /** `malformed` is a response with an expected status whose content cannot be read. */
  | HttpFailure
  /** The response has an unexpected status. */
  | { readonly kind: 'status'; readonly status: number; readonly text: string };

export class ExchangeError extends FailedExchange<Failure> {}
