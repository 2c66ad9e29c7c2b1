/** How an exchange with an API server failed. `errors.ts` says what a failure means for a call. */

import { FailedExchange, type HttpFailure } from '@incumbent/network';

export type Failure =
  /**
   * `malformed` is a response whose content cannot be read. `notConnected` includes that there were
   * no credentials.
   */
  | HttpFailure
  /**
   * The response has an unexpected status. `needs`: the right without which it is a 403.
   * `hadRight`: the server granted it shortly before.
   */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly reason: string;
      readonly needs?: Right;
      readonly hadRight?: boolean;
    };

/** What the API server checks before it looks at a request, in the words of a Role. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** The plural of a resource, or a path that belongs to none. */
  readonly resource: string;
  /** Undefined for a path that belongs to no namespace. */
  readonly namespace: string | undefined;
}

export class ExchangeError extends FailedExchange<Failure> {}
