/** Waiting, on the store's clock. */

import type { Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

/** Resolves after so long, or sooner when the signal aborts. Does not keep the process alive. */
export async function pause(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancels = [clock.schedule(delayMs, resolve), onAbort(signal, resolve)];
  await promise;
  for (const cancel of cancels) cancel();
}
