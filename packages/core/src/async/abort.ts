/**
 * Helpers for AbortSignals. Each signal gets one listener for any number of tasks, so that Node
 * does not warn about a leak of listeners.
 */

import type { Cancel } from '../base/clock.ts';
import { isIncumbentError } from '../base/errors.ts';
import { checkKnown, invalidOption } from '../base/validate.ts';

// npm only warns of `engines`. On an older Node, the first calls would fail with puzzling errors.
if (!('withResolvers' in Promise)) throw new Error('incumbent needs Node 22.13 or newer');

/** The options of a call that can be aborted. */
export interface SignalOptions {
  /**
   * Aborts the call: a promise rejects with the signal's reason, and an iteration ends without an
   * error.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Is notified when a signal aborts. */
export interface AbortListener {
  aborted(): void;
}

const fans = new WeakMap<AbortSignal, Set<AbortListener>>();

/**
 * Runs `task` once when the signal aborts, or at once if it has aborted. The returned function
 * prevents the run.
 */
export function onAbort(signal: AbortSignal | undefined, task: () => void): Cancel {
  if (signal === undefined) return () => {};
  const own = { aborted: task };
  addAbortListener(signal, own);
  return () => removeAbortListener(signal, own);
}

/**
 * Notifies the listener once when the signal aborts, or at once if it has aborted. Unlike
 * `onAbort`, creates no functions: a process may have tens of thousands of watches.
 */
export function addAbortListener(signal: AbortSignal, listener: AbortListener): void {
  if (signal.aborted) listener.aborted();
  else fanOf(signal).add(listener);
}

/** Does not notify the listener any more. */
export function removeAbortListener(signal: AbortSignal, listener: AbortListener): void {
  fans.get(signal)?.delete(listener);
}

/**
 * The reason of an internal abort, which nobody reads. `abort()` without a reason would create an
 * error with a stack.
 */
const OVER = 'over';

/** Aborts with a constant reason, for watches and waits that do not read it. */
export function endQuietly(controller: AbortController): void {
  controller.abort(OVER);
}

function fanOf(signal: AbortSignal): Set<AbortListener> {
  const known = fans.get(signal);
  if (known !== undefined) return known;
  const fan = new Set<AbortListener>();
  fans.set(signal, fan);
  signal.addEventListener('abort', notifyFan, { once: true });
  return fan;
}

function notifyFan(this: AbortSignal): void {
  const fan = fans.get(this);
  // Iterate over the set itself, because a listener may remove another one.
  for (const listener of fan ?? []) {
    fan?.delete(listener);
    listener.aborted();
  }
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

/**
 * Runs a task with a signal that aborts as soon as one of `signals` does. Settles as the task does,
 * or rejects with that signal's reason at once.
 */
export async function withSignals<T>(signals: readonly (AbortSignal | undefined)[], task: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const stops = signals.map((signal) => onAbort(signal, () => over.abort(signal?.reason)));
  try {
    over.signal.throwIfAborted();
    return await orAborted(task(over.signal), over.signal);
  } finally {
    for (const stop of stops) stop();
  }
}

/**
 * Settles as `promise` does. If nobody handles a rejection that `isExpected` accepts, Node does not
 * end the process for it.
 */
export function withHandled<T>(promise: Promise<T>, isExpected: (error: unknown) => boolean): Promise<T> {
  const result = Promise.withResolvers<T>();
  promise.then(result.resolve, (error: unknown) => {
    if (isExpected(error)) result.promise.catch(() => {});
    result.reject(error);
  });
  return result.promise;
}

/**
 * True if an error that work has thrown only says that the work was aborted: the error or its cause
 * is the end of a leadership or the reason of one of `signals`, or the error is an `AbortError`.
 */
export function isAbort(error: unknown, signals: readonly (AbortSignal | undefined)[]): boolean {
  const [name, cause] = error instanceof Error ? [error.name, error.cause] : [];
  const isReason = (why: unknown): boolean =>
    isIncumbentError(why, 'LEADERSHIP_ENDED') || signals.some((signal) => signal?.aborted === true && signal.reason === why);
  return name === 'AbortError' || isReason(error) || isReason(cause);
}

/**
 * Returns the signal of a call's options.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if the signal is none, or if there are options
 * besides it and the `others`.
 */
export function checkSignal(options: SignalOptions, others: readonly string[] = []): AbortSignal | undefined {
  if (options instanceof AbortSignal) throw invalidOption('options', options, 'an object with the signal in it: { signal }');
  checkKnown('call', options, ['signal', ...others]);
  return checkAbortSignal(options.signal);
}

/**
 * Returns the signal, which may be undefined.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` for anything else.
 */
export function checkAbortSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw invalidOption('signal', signal, 'an AbortSignal');
}
