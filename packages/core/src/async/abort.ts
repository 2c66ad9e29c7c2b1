/**
 * Helpers for AbortSignals. Adds one listener to each signal, for any number of tasks, so that Node
 * warns of no leak.
 */

import type { Cancel } from '../base/clock.ts';
import { checkKnown, invalidOption } from '../base/validate.ts';

/** The options of a call that can be given up. */
export interface SignalOptions {
  /**
   * Gives the call up: a promise rejects with the signal's reason, an iteration ends without an
   * error.
   */
  readonly signal?: AbortSignal;
}

const fans = new WeakMap<AbortSignal, Set<() => void>>();

/** Runs `task` once when the signal aborts; at once if it has already. */
export function onAbort(signal: AbortSignal | undefined, task: () => void): Cancel {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    task();
    return () => {};
  }
  const own = (): void => task();
  const fan = fanOf(signal);
  fan.add(own);
  return () => {
    fan.delete(own);
  };
}

/**
 * The reason of an internal abort, which nobody reads. `abort()` without a reason would create an
 * error with a stack.
 */
const OVER = 'over';

/** Aborts watches and waits that do not read the reason. */
export function endQuietly(controller: AbortController): void {
  controller.abort(OVER);
}

function fanOf(signal: AbortSignal): Set<() => void> {
  const known = fans.get(signal);
  if (known !== undefined) return known;
  const fan = new Set<() => void>();
  fans.set(signal, fan);
  signal.addEventListener(
    'abort',
    () => {
      // Over the set itself: a task may cancel another.
      for (const task of fan) {
        fan.delete(task);
        task();
      }
    },
    { once: true },
  );
  return fan;
}

/** Settles as `promise` does, or rejects with the signal's reason if the signal aborts first. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const aborted = Promise.withResolvers<never>();
  const stop = onAbort(signal, () => aborted.reject(signal.reason));
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    stop();
  }
}

/** The signal of a call's options, which have nothing else. */
export function checkSignal(options: SignalOptions): AbortSignal | undefined {
  if (options instanceof AbortSignal) throw invalidOption('options', options, 'an object with the signal in it: { signal }');
  checkKnown('call', options, ['signal']);
  const { signal } = options;
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw invalidOption('signal', signal, 'an AbortSignal');
}
