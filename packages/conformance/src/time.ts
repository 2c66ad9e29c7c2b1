/** Waiting by a clock, real or manual. */

import type { Clock } from '@incumbent/core';

/** Resolves no earlier than `ms` from now. Keeps the process alive meanwhile. */
export function sleep(clock: Clock, ms: number): Promise<void> {
  const release = clock.keepAlive();
  return new Promise((resolve) => {
    clock.schedule(ms, () => {
      release();
      resolve();
    });
  });
}

export interface UntilOptions {
  readonly withinMs: number;
  /** What is waited for, used in the error's message. */
  readonly what: string;
  /** The time between two checks, in ms. Default 10. */
  readonly everyMs?: number;
}

/**
 * Checks the condition repeatedly until it is true. Rejects with an error that names `what` if it
 * is not true within `withinMs`.
 */
export async function until(clock: Clock, condition: () => boolean | Promise<boolean>, options: UntilOptions): Promise<void> {
  const { withinMs, what, everyMs = 10 } = options;
  const endsAt = clock.monotonic() + withinMs;
  while (!(await condition())) {
    if (clock.monotonic() >= endsAt) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(clock, Math.min(everyMs, Math.max(endsAt - clock.monotonic(), 1)));
  }
}

/**
 * Settles like `promise`. Rejects with an error that names `what` if the promise has not settled
 * within `ms`.
 */
export async function within<T>(clock: Clock, ms: number, what: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const release = clock.keepAlive();
  const cancel = clock.schedule(ms, () => late.reject(new Error(`not within ${ms} ms: ${what}`)));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    cancel();
    release();
  }
}

/** Marks a promise as handled, so that it can be awaited later without an unhandled rejection. */
export function begun<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
