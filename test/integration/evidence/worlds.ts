/** How many different simulated worlds broke no promise, by the evidence. */

import type { Line } from './runs.ts';

/** Older lines are of checkers that knew fewer promises: members and groups in calm, several leases of one session. UTC. */
export const SINCE = '2026-11-21 20:45';

/** How many runs of `seeds` seeds each passed, each seed counted once. Of seeds that were run again, the first run counts. */
export function runsPassed(lines: readonly Line[], seeds: number, since: string = SINCE): number {
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
