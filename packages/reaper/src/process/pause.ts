import type { Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

/** Resolves after `delayMs`, or as soon as the signal aborts. */
export async function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancels = [clock.schedule(delayMs, resolve), onAbort(signal, resolve)];
  await promise;
  for (const cancel of cancels) cancel();
}
