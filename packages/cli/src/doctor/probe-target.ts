/** The store that `doctor` probes, and measurements of its calls. */

import { randomBytes } from 'node:crypto';

import { type CallOptions, type LeaseOptions, listElections, type SignalOptions, type Store } from '@incumbent/core';

import { failure, type Finding } from './finding.ts';

export const CALL: CallOptions = { timeoutMs: 5_000 };

export function leaseCall(): LeaseOptions {
  return { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } };
}

export interface ProbeTarget {
  readonly store: Store;
  readonly ttlMs: number;
  /** The key below which all probes write. Nobody else uses it. */
  readonly scratch: string;
  /** Aborts when the checks must stop, and remove what they have written. */
  readonly stopping?: AbortSignal | undefined;
}

/** A scratch key looks like an election of this name until it is removed. */
const SCRATCH_NAME: RegExp = /^doctor-[0-9a-f]{12}$/;

/**
 * A new scratch key. Below `elections/`, because a user may have permission to write there only.
 */
export function newScratch(): string {
  return `elections/doctor-${randomBytes(6).toString('hex')}`;
}

/** The names of all elections of the namespace, without the scratch keys of any `doctor`. */
export async function electionNames(store: Store, options?: SignalOptions): Promise<readonly string[]> {
  return (await listElections(store, options)).filter((name) => !SCRATCH_NAME.test(name));
}

/** Removes all keys below the scratch key. Resolves with a failure if that is not possible. */
export async function removeScratch({ store, scratch }: ProbeTarget): Promise<Finding | undefined> {
  try {
    const left = await store.list(scratch, CALL);
    for (const { key, revision } of left) await store.compareAndSwap([{ key, expect: revision, delete: true }], CALL);
    return undefined;
  } catch (error) {
    const { detail } = failure('', error);
    return { level: 'failure', what: 'clean up', detail: `${scratch} could not be removed: ${detail}` };
  }
}

/** After so many ms, no further call is measured: on a slow store, a few calls tell as much. */
const MEASURE_MS = 10_000;

/**
 * Makes `count` calls one after the other, or fewer if they are slow. Resolves with their durations
 * in ms, sorted. Rejects when the signal aborts.
 */
export async function timesOf(count: number, call: () => Promise<unknown>, stopping?: AbortSignal): Promise<readonly number[]> {
  const times: number[] = [];
  let totalMs = 0;
  while (times.length < count && totalMs < MEASURE_MS) {
    stopping?.throwIfAborted();
    const from = performance.now();
    await call();
    const tookMs = performance.now() - from;
    times.push(tookMs);
    totalMs += tookMs;
  }
  return times.toSorted((a, b) => a - b);
}

/** The quantile of sorted times, such as 0.99. */
export function quantile(times: readonly number[], fraction: number): number {
  return times[Math.min(Math.ceil(times.length * fraction), times.length) - 1] ?? 0;
}
