/** The error of an adapter that has no failures but the common ones. */

import { type CommonFailure, FailedExchange } from '@incumbent/network';

export class ExchangeError extends FailedExchange<CommonFailure> {}
