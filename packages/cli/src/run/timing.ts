/**
 * Computes the ttl, the program's grace and the time for SIGKILL so that the program ends within
 * the lease.
 */

import type { Store } from '@incumbent/core';
import { longestDrainMs } from '@incumbent/core/adapter';

import { showDuration } from '../common/duration.ts';
import { usageError } from '../exit.ts';

export interface RunTiming {
  readonly ttlMs: number;
  /** Time between SIGTERM and SIGKILL when leadership is lost, in ms. */
  readonly graceMs: number;
  /** Time for SIGKILL to end the whole group, in ms: between the grace and the end of the lease. */
  readonly killMs: number;
  /** `graceMs + killMs`: the member's `drainMs`. */
  readonly drainMs: number;
}

const DEFAULT_TTL_MS = 15_000;
/** The default of `drainMs` as a fraction of the ttl. */
const DEFAULT_DRAIN_RATIO = 1 / 5;

/**
 * @throws A usage error if the grace does not fit into the ttl, with the longest grace and a ttl
 *   that fits.
 */
export function runTiming(ttl: number | undefined, grace: number | undefined, store: Store): RunTiming {
  const { minTtlMs, maxTtlMs } = store.capabilities;
  const ttlMs = ttl ?? Math.min(Math.max(DEFAULT_TTL_MS, minTtlMs), maxTtlMs);
  if (!(ttlMs >= minTtlMs && ttlMs <= maxTtlMs))
    throw usageError(
      `--ttl ${showDuration(ttlMs)} is not possible with this store (${store.name}): from ${showDuration(minTtlMs)} to ${showDuration(maxTtlMs)}`,
    );
  const longestMs = longestDrainMs({ ttlMs }, store);
  const killMs = killTimeMs(ttlMs, longestMs);
  const graceMs = grace ?? Math.max(Math.min(ttlMs * DEFAULT_DRAIN_RATIO, longestMs) - killMs, 0);
  const drainMs = graceMs + killMs;
  if (drainMs <= longestMs) return { ttlMs, graceMs, killMs, drainMs };
  const fitsMs = Math.ceil(((graceMs + 500) * ttlMs) / longestMs / 1_000) * 1_000;
  throw usageError(
    `--grace ${showDuration(graceMs)} does not fit into --ttl ${showDuration(ttlMs)}: at most ${showDuration(Math.max(longestMs - killMs, 0))}, ` +
      `so that the program has ended before another member can lead; it fits into --ttl ${fitsMs / 1_000}s`,
  );
}

/** The longest grace that fits into the ttl, in ms. */
export function longestGraceMs(ttlMs: number, store: Store): number {
  const longestMs = longestDrainMs({ ttlMs }, store);
  return Math.max(longestMs - killTimeMs(ttlMs, longestMs), 0);
}

function killTimeMs(ttlMs: number, longestMs: number): number {
  return Math.min(Math.max(ttlMs / 30, 50), 500, Math.max(longestMs, 0));
}
