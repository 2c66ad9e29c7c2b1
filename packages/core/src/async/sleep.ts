/** Waits on an injected clock. */

import type { Clock } from '../base/clock.ts';
import { invalidOption } from '../base/validate.ts';
import { checkAbortSignal, onAbort } from './abort.ts';

/**
 * Resolves after `delayMs`, or as soon as the signal aborts. The abort is no error, so check
 * `leadership.isValid()` after it. Code that waits by the clock of its member can be tested in a
 * `TestCluster` and in the simulator: `await sleep(clock, 1_000, leadership.signal)`. Does not keep
 * the process alive. A delay above 2^31 - 1 ms (24.8 days) counts as that.
 *
 * @throws `INVALID_OPTION` for anything but a clock, a number and a signal.
 */
export async function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (typeof clock?.schedule !== 'function') throw invalidOption('clock', clock, 'a Clock: sleep(systemClock, 1_000, signal)');
  if (typeof delayMs !== 'number' || Number.isNaN(delayMs)) throw invalidOption('delayMs', delayMs, 'a number');
  checkAbortSignal(signal);
  const over = Promise.withResolvers<void>();
  const cancel = clock.schedule(Math.max(delayMs, 1), () => over.resolve());
  const stop = onAbort(signal, () => over.resolve());
  await over.promise;
  cancel();
  stop();
}

/** Settles as the task does. Keeps the process alive until then. */
export async function keepAlive<T>(clock: Clock, task: () => Promise<T>): Promise<T> {
  const letGo = clock.keepAlive();
  try {
    return await task();
  } finally {
    letGo();
  }
}
