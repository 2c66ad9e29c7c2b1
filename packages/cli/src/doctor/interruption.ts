/** Lets `doctor` remove its keys before a signal ends the process. */

import { constants } from 'node:os';

import { Exit } from '../exit.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Passes a signal that aborts at the first SIGINT, SIGTERM or SIGHUP. When the task has settled,
 * that signal ends the process, as it would have done at once. A second one ends it at once.
 */
export async function finishBeforeSignal<T>(task: (stopping: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  let stoppedBy: NodeJS.Signals | undefined;
  const unlisten = (): void => {
    for (const name of SIGNALS) process.off(name, handler);
  };
  const handler = (name: NodeJS.Signals): void => {
    stoppedBy = name;
    unlisten();
    stop.abort();
  };
  for (const name of SIGNALS) process.on(name, handler);
  try {
    return await task(stop.signal);
  } finally {
    unlisten();
    if (stoppedBy !== undefined) endBy(stoppedBy);
  }
}

/** Ends the process as the signal does when nothing listens to it. */
function endBy(name: NodeJS.Signals): void {
  // To PID 1 of a container, the kernel sends no signal that nothing listens to.
  if (process.pid === 1) process.exit(Exit.SIGNAL + constants.signals[name]);
  process.kill(process.pid, name);
}
