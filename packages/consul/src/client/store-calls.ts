/** The calls of one store: each has a time limit, and every failure becomes a `StoreError`. */

import type { Clock, LeaseId, TimedCall } from '@incumbent/core';
import { CallTime, CheckedCalls, type MissingPermission, namingGrant } from '@incumbent/network';

import { toStoreError } from '../errors.ts';
import { ExchangeError } from './failure.ts';

export interface StoreCallsOptions {
  readonly clock: Clock;
  /** Whether the store was closed. */
  isClosed(): boolean;
  /** Consul has refused to bind a key to this lease, so the lease is certainly gone. */
  onLeaseGone(lease: LeaseId): void;
}

/** One call of a method of the store. */
interface StoreCall {
  /** The name of the method, for messages. */
  readonly method: string;
  /** What the user lacks if Consul denies the call. */
  readonly missing: () => MissingPermission;
}

export class StoreCalls extends CheckedCalls {
  readonly #clock: Clock;

  constructor({ clock, isClosed, onLeaseGone }: StoreCallsOptions) {
    super({
      store: 'consul',
      isClosed,
      toStoreError: (error, method) => {
        const failure = toStoreError(error, method);
        const { lease } = failure.details;
        if (lease !== undefined) onLeaseGone(lease);
        return failure;
      },
      nameGrant: (error) => error,
    });
    this.#clock = clock;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  run<T>({ method, missing }: StoreCall, task: (time: CallTime) => Promise<T>, options: TimedCall): Promise<T> {
    const timed = async (): Promise<T> => task(new CallTime(this.#clock, options, ExchangeError));
    return namingGrant(this.call(method, timed, options), missing);
  }
}
