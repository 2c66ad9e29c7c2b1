/** A store on which `doctor` tries things, with the times of its calls. */

import type { CallOptions, LeaseOptions, Store } from '@incumbent/core';

export const CALL: CallOptions = { timeoutMs: 5_000 };

export function leaseCall(): LeaseOptions {
  return { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } };
}

export interface Patient {
  readonly store: Store;
  readonly ttlMs: number;
  /** A path that nobody uses, below which everything that is tried stands. */
  readonly scratch: string;
}

/** How long each of so many calls took, in ms, in rising order. */
export async function timesOf(count: number, call: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const from = performance.now();
    await call();
    times.push(performance.now() - from);
  }
  return times.toSorted((a, b) => a - b);
}

/** The smallest of the times that no more than a part of them exceeds. */
export function quantile(times: readonly number[], part: number): number {
  return times[Math.min(Math.ceil(times.length * part), times.length) - 1] ?? 0;
}
