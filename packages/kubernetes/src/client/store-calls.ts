/** The calls of one store: each has a time limit, and every failure becomes a `StoreError`. */

import type { Clock, TimedCall } from '@incumbent/core';
import { CallTime, CheckedCalls, withGrant } from '@incumbent/network';

import { deniedRight, toStoreError } from '../errors.ts';
import { ExchangeError } from './failure.ts';

export class StoreCalls extends CheckedCalls {
  readonly #clock: Clock;

  constructor(clock: Clock, isClosed: () => boolean) {
    super({
      store: 'kubernetes',
      isClosed,
      toStoreError,
      nameGrant: (error) => withGrant(error, () => deniedRight(error)),
    });
    this.#clock = clock;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  run<T>(method: string, task: (time: CallTime) => Promise<T>, options: TimedCall): Promise<T> {
    return this.call(method, async () => task(new CallTime(this.#clock, options, ExchangeError)), options);
  }
}
