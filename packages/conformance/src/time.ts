/** Waiting by a clock, real or manual. */

import assert from 'node:assert/strict';
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
  /** Called when the time is over. Returns what the last checks saw, for the error. */
  readonly seen?: () => Seen | undefined;
}

/** What a condition saw that did not become true. */
export interface Seen {
  /** Appended to the message of the error. */
  readonly text: string;
  /** The cause of the error, if there is one. */
  readonly cause?: unknown;
}

/**
 * Checks the condition repeatedly until it is true. Rejects with an AssertionError that names
 * `what` if it is not true within `withinMs`.
 */
export async function until(clock: Clock, condition: () => boolean | Promise<boolean>, options: UntilOptions): Promise<void> {
  const { withinMs, what, everyMs = 10, seen } = options;
  const endsAt = clock.monotonic() + withinMs;
  while (!(await condition())) {
    if (clock.monotonic() >= endsAt) throw tooLate(withinMs, what, seen?.());
    await sleep(clock, Math.min(everyMs, Math.max(endsAt - clock.monotonic(), 1)));
  }
}

/**
 * Settles like `promise`. Rejects with an AssertionError that names `what` if the promise has not
 * settled within `ms`.
 */
export async function within<T>(clock: Clock, ms: number, what: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const release = clock.keepAlive();
  const cancel = clock.schedule(ms, () => late.reject(tooLate(ms, what)));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    cancel();
    release();
  }
}

function tooLate(ms: number, what: string, seen?: Seen): assert.AssertionError {
  const message = `not within ${ms} ms: ${what}${seen === undefined ? '' : `; ${seen.text}`}`;
  const error = new assert.AssertionError({ message });
  if (seen?.cause !== undefined) error.cause = seen.cause;
  return error;
}

/** Marks a promise as handled, so that it can be awaited later without an unhandled rejection. */
export function begun<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
