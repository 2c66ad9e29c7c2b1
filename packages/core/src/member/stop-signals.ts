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
  /** Aborts when the member has closed, after its work has drained. */
  readonly closed: AbortSignal;
  /** Begins to close the member, unless a call has begun that. */
  readonly stop: () => void;
}

/**
 * Lets these signals end the process when nothing listens to them, which is their default action.
 * The kernel drops them instead if the process is PID 1 of its container: there, a listener ends
 * the process, with 128 plus the number of the signal. Like the default action, that listener has
 * no effect while there is another one. Elsewhere, this does nothing.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` for no signal, or one that is not known.
 */
export function endByDefault(signals: readonly StopSignal[]): void {
  checkStopSignals(signals);
  if (process.pid !== 1) return;
  for (const signal of signals) {
    // In front of the others, because a listener that is added by `once` is gone when it runs.
    if (!process.listeners(signal).includes(exitIfAlone)) process.prependListener(signal, exitIfAlone);
  }
}

/** Node calls it with the number of the signal, which its types leave out. */
function exitIfAlone(signal: NodeJS.Signals, number = 0): void {
  if (process.listenerCount(signal) === 1) process.exit(128 + number);
}

/**
 * Calls `stop` at the first of these signals, also if the member closes already. Half a second
 * later the signals have their former effect again, by which a second one ends the process, also
 * one that is PID 1. Without a signal, they have it again when the member has closed.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` for no signal, or one that is not known.
 */
export function onStopSignal(signals: readonly StopSignal[], { clock, closed, stop }: StopSignalContext): void {
  checkStopSignals(signals);
  let asked = false;
  const begin = (): void => {
    if (asked) return;
    asked = true;
    clock.schedule(SAME_REQUEST_MS, remove);
    stop();
  };
  const remove = (): void => {
    for (const signal of signals) removeListener(signal, begin);
    endByDefault(signals);
  };
  for (const signal of signals) addListener(signal, begin);
  // After a signal, the listener outlives the close: the same request may arrive once more.
  onAbort(closed, () => (asked ? undefined : remove()));
}

function checkStopSignals(signals: readonly StopSignal[]): void {
  if (signals.length === 0 || !signals.every((signal) => KNOWN.includes(signal))) {
    const unknown = signals.find((signal) => !KNOWN.includes(signal));
    // Other text is not shown: it may be a secret.
    const invalid = /^SIG[A-Z0-9]{1,8}$/i.test(String(unknown)) ? invalidText : invalidOption;
    throw invalid('signals', unknown, `one or more of ${KNOWN.join(', ')}, each an argument of its own`);
  }
}

type Listener = () => void;

/**
 * The listeners of each signal. The process itself gets one listener for all of them, because Node
 * warns of a leak when it gets the eleventh.
 */
const listeners = new Map<NodeJS.Signals, Set<Listener>>();

function addListener(signal: StopSignal, listener: Listener): void {
  listeners.set(signal, (listeners.get(signal) ?? new Set()).add(listener));
  // Ask Node, because the program may have called `process.removeAllListeners`.
  if (!process.listeners(signal).includes(notify)) process.on(signal, notify);
}

function removeListener(signal: StopSignal, listener: Listener): void {
  const others = listeners.get(signal);
  others?.delete(listener);
  if (others?.size === 0) process.off(signal, notify);
}

function notify(signal: NodeJS.Signals): void {
  // Iterate over a copy: the signal arrived before a listener that is added meanwhile.
  for (const listener of [...(listeners.get(signal) ?? [])]) listener();
}
