/** How many simulated worlds the ledger has without a broken promise: each seed once, and only with the faults and the checks of today. */

/**
 * Rows before this minute, UTC, do not count: they lack the silent faults (hanging disks, silent
 * connections, several servers behind one address, the deleted entry of a leader).
 */
export const SINCE = '2026-11-25 00:12';
/** The same of members that elect among themselves, which have no store. */
export const PEERS_SINCE = '2026-11-21 20:45';

/** One row of a page, in runs of so many seeds. */
interface Row {
  readonly seed: number;
  readonly passed: number;
  readonly failed: number;
}

/** How many runs of a page passed, if the row's are `seeds` seeds in a row each. Of seeds that were run again, the first time counts. */
export function runsPassed(page: string, seeds: number, since: string): number {
  const known = new Set<number>();
  let passed = 0;
  for (const { seed, ...runs } of rowsOf(page, since)) {
    const all = Array.from({ length: runs.passed + runs.failed }, (_, index) => seed + index * seeds);
    const fresh = all.filter((first) => !known.has(first));
    for (const first of fresh) known.add(first);
    // A row does not say which of its runs failed: they are taken to be among those that nobody had run.
    passed += Math.max(fresh.length - runs.failed, 0);
  }
  return passed;
}

function rowsOf(page: string, since: string): readonly Row[] {
  const rows = page.matchAll(/^\| (?<date>[\d-]{10} [\d:]{5}) \| \S+ \| (?<seed>\d+) \| (?<passed>\d+) \| (?<failed>\d+) \|/gm);
  return [...rows].flatMap(({ groups = {} }) =>
    (groups['date'] ?? '') < since
      ? []
      : [{ seed: Number(groups['seed']), passed: Number(groups['passed']), failed: Number(groups['failed']) }],
  );
}
