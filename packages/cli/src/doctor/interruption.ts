/** Lets `doctor` remove its keys before a signal ends the process. */

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
    if (stoppedBy !== undefined) process.kill(process.pid, stoppedBy);
  }
}
