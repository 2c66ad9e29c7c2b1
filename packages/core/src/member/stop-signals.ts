/** The signals of the operating system that ask a process to stop. */

import { onAbort } from '../async/abort.ts';
import type { Clock } from '../base/clock.ts';
import { invalidOption, invalidText } from '../base/validate.ts';

const KNOWN = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGBREAK', 'SIGUSR2'] as const;

/** A signal that asks a process to stop. nodemon sends `SIGUSR2`; Windows knows `SIGBREAK`. */
export type StopSignal = (typeof KNOWN)[number];

/**
 * How long a further signal counts as the same request, in ms. After Ctrl-C, the terminal signals
 * every process of its foreground group, and npm passes on to its child what it receives itself.
 */
const SAME_REQUEST_MS = 500;

/** What the listener needs of its member. */
export interface StopSignalContext {
  readonly clock: Clock;
  /** Aborts when the member closes. */
  readonly closing: AbortSignal;
  readonly stop: () => void;
}

/**
 * Calls `stop` at the first of these signals. Afterwards the signals have their former effect
 * again, by which a second one ends the process.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` for no signal, or one that is not known.
 */
export function onStopSignal(signals: readonly StopSignal[], { clock, closing, stop }: StopSignalContext): void {
  if (signals.length === 0 || !signals.every((signal) => KNOWN.includes(signal))) {
    const unknown = signals.find((signal) => !KNOWN.includes(signal));
    // Other text is not shown: it may be a secret.
    const invalid = /^SIG[A-Z0-9]{1,8}$/i.test(String(unknown)) ? invalidText : invalidOption;
    throw invalid('signals', unknown, `one or more of ${KNOWN.join(', ')}, each an argument of its own`);
  }
  let asked = false;
  const begin = (): void => {
    if (asked) return;
    asked = true;
    clock.schedule(SAME_REQUEST_MS, remove);
    stop();
  };
  const remove = (): void => {
    for (const signal of signals) process.off(signal, begin);
  };
  for (const signal of signals) process.on(signal, begin);
  onAbort(closing, () => (asked ? undefined : remove()));
}
