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
  /** What is waited for, for the error. */
  readonly what: string;
  /** Time between two looks, in ms. Default 10. */
  readonly everyMs?: number;
}

/** Looks again and again until the condition holds; rejects, naming `what`, when it does not within `withinMs`. */
export async function until(clock: Clock, condition: () => boolean | Promise<boolean>, options: UntilOptions): Promise<void> {
  const { withinMs, what, everyMs = 10 } = options;
  const endsAt = clock.monotonic() + withinMs;
  while (!(await condition())) {
    if (clock.monotonic() >= endsAt) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(clock, Math.min(everyMs, Math.max(endsAt - clock.monotonic(), 1)));
  }
}

/** Settles as `promise` does, or rejects, naming `what`, when it has not settled within `ms`. */
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

/** A promise that is awaited later: until then its rejection is nobody's. */
export function begun<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
