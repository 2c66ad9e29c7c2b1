/**
 * This process's timers, which fire when a test lets time pass. What a host's clock says is another
 * matter: see the rig.
 */

import { vi } from 'vitest';

/** Until `vi.useRealTimers()`. The event loop goes on: only time stands still. */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { setTimeout } = globalThis;
  const asInNode = (task: () => void, ms = 1): NodeJS.Timeout => setTimeout(task, Math.max(1, Math.trunc(ms)));
  // The stand-in takes a fraction of a millisecond at its word.
  Reflect.set(globalThis, 'setTimeout', asInNode);
}

/** Lets turns of the event loop pass, and no time. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
}

/** Lets time pass, with turns of the event loop in every millisecond of it. */
export async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1) {
    vi.advanceTimersByTime(1);
    await turns(2);
  }
}
