import type { Cancel } from '@incumbent/core';

/** Runs `task` when the signal aborts, at once if it has; cancelled, it leaves no listener behind. */
export function onAbort(signal: AbortSignal | undefined, task: () => void): Cancel {
  if (signal?.aborted) task();
  signal?.addEventListener('abort', task, { once: true });
  return () => signal?.removeEventListener('abort', task);
}
