/** Commands that run until SIGTERM or SIGINT. */

/** Passes a signal that aborts at the first SIGTERM or SIGINT. */
export async function untilSignal(task: (stopping: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController();
  const handler = (): void => stop.abort();
  process.on('SIGTERM', handler).on('SIGINT', handler);
  try {
    return await task(stop.signal);
  } finally {
    process.off('SIGTERM', handler).off('SIGINT', handler);
  }
}

/** Resolves when the signal has aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
