/** How many different simulated worlds broke no promise, according to the evidence. */

import type { RunLine } from './runs.ts';

/**
 * Worlds over a store that were run before this minute, UTC, do not count: they lack the silent
 * faults (hanging disks, silent connections, several servers behind one address, the deleted entry
 * of a leader).
 */
export const SINCE = '2026-11-25 00:12';
/** The same for worlds of members that elect among themselves, which have no store. */
export const PEERS_SINCE = '2026-11-21 20:45';

/**
 * How many runs of `seeds` seeds each passed, each seed counted once. Of seeds that were run again,
 * the first run counts.
 */
export function runsPassed(lines: readonly RunLine[], seeds: number, since: string): number {
  const known = new Set<number>();
  let passed = 0;
  for (const line of lines) {
    if (line.date < since) continue;
    const all = Array.from({ length: line.passed + line.failed }, (_, index) => line.seed + index * seeds);
    const fresh = all.filter((first) => !known.has(first));
    for (const first of fresh) known.add(first);
    // A line does not say which of its runs failed: count them among the fresh ones.
    passed += Math.max(fresh.length - line.failed, 0);
  }
  return passed;
}
