/** How the grace of a program fits into a lease. */

import type { Store } from '@incumbent/core';
import { longestDrainMs } from '@incumbent/core/adapter';

import { showDuration } from '../duration.ts';
import { usageError } from '../exit.ts';

export interface RunTiming {
  readonly ttlMs: number;
  /** What the program gets between SIGTERM and SIGKILL when leadership ends, in ms. */
  readonly graceMs: number;
  /** What SIGKILL gets to take effect on the whole group, in ms: it lies between the grace and the end of the lease. */
  readonly killMs: number;
  /** Both: the member's `drainMs`. */
  readonly drainMs: number;
}

const DEFAULT_TTL_MS = 15_000;
/** The drain that is taken where no grace is asked for, in parts of the ttl. */
const DEFAULT_DRAIN = 1 / 5;

/** Throws a usage error where the grace does not fit, that says how long it may be, and what ttl it would fit into. */
export function runTiming(ttl: number | undefined, grace: number | undefined, store: Store): RunTiming {
  const { minTtlMs, maxTtlMs } = store.capabilities;
  const ttlMs = ttl ?? Math.min(Math.max(DEFAULT_TTL_MS, minTtlMs), maxTtlMs);
  if (!(ttlMs >= minTtlMs && ttlMs <= maxTtlMs))
    throw usageError(
      `--ttl ${showDuration(ttlMs)} is not possible with this store (${store.name}): from ${showDuration(minTtlMs)} to ${showDuration(maxTtlMs)}`,
    );
  const longestMs = longestDrainMs({ ttlMs }, store);
  const killMs = killTimeMs(ttlMs, longestMs);
  const graceMs = grace ?? Math.max(Math.min(ttlMs * DEFAULT_DRAIN, longestMs) - killMs, 0);
  const drainMs = graceMs + killMs;
  if (drainMs <= longestMs) return { ttlMs, graceMs, killMs, drainMs };
  const fitsMs = Math.ceil(((graceMs + 500) * ttlMs) / longestMs / 1_000) * 1_000;
  throw usageError(
    `--grace ${showDuration(graceMs)} does not fit into --ttl ${showDuration(ttlMs)}: at most ${showDuration(Math.max(longestMs - killMs, 0))}, ` +
      `so that the program is gone before another member can lead. --ttl ${fitsMs / 1_000}s has room for it`,
  );
}

/** The longest grace that fits into a ttl, in ms. */
export function longestGraceMs(ttlMs: number, store: Store): number {
  const longestMs = longestDrainMs({ ttlMs }, store);
  return Math.max(longestMs - killTimeMs(ttlMs, longestMs), 0);
}

function killTimeMs(ttlMs: number, longestMs: number): number {
  return Math.min(Math.max(ttlMs / 30, 50), 500, Math.max(longestMs, 0));
}
