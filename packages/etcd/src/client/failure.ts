/** How one exchange with a member failed. `errors.ts` decides what that means. */

import { type CommonFailure, FailedExchange } from '@incumbent/network';

export type Failure =
  | CommonFailure
  /** No connection could be made. Nothing was sent. */
  | { readonly kind: 'notConnected' }
  /** The server states that it did not process the request. */
  | { readonly kind: 'streamRefused' }
  /** The server answered with a gRPC status other than OK. */
  | { readonly kind: 'status'; readonly status: number; readonly reason: string }
  /** This process ended a stream of watches, because two newer ones have followed it. */
  | { readonly kind: 'replaced' }
  /** The answer is HTTP but not gRPC: it comes from a proxy or another kind of server. */
  | { readonly kind: 'http'; readonly httpStatus: number };

export class ExchangeError extends FailedExchange<Failure> {}
