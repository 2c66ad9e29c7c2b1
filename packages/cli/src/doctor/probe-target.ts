/** The store that `doctor` probes, and measurements of its calls. */

import { randomBytes } from 'node:crypto';

import type { CallOptions, LeaseOptions, Store } from '@incumbent/core';

export const CALL: CallOptions = { timeoutMs: 5_000 };

export function leaseCall(): LeaseOptions {
  return { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } };
}

export interface ProbeTarget {
  readonly store: Store;
  readonly ttlMs: number;
  /** The key below which all probes write. Nobody else uses it. */
  readonly scratch: string;
}

/** A scratch key looks like an election of this name until it is removed. */
export const SCRATCH_NAME: RegExp = /^doctor-[0-9a-f]{12}$/;

/**
 * A new scratch key. Below `elections/`, because a user may have permission to write there only.
 */
export function newScratch(): string {
  return `elections/doctor-${randomBytes(6).toString('hex')}`;
}

/** Makes `count` calls one after the other. Resolves with their durations in ms, sorted. */
export async function timesOf(count: number, call: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let done = 0; done < count; done += 1) {
    const from = performance.now();
    await call();
    times.push(performance.now() - from);
  }
  return times.toSorted((a, b) => a - b);
}

/** The quantile of sorted times, such as 0.99. */
export function quantile(times: readonly number[], fraction: number): number {
  return times[Math.min(Math.ceil(times.length * fraction), times.length) - 1] ?? 0;
}
