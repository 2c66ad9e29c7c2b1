import { describe, expect, it } from 'vitest';
import { runsPassed } from './worlds.ts';

const SINCE = '2026-11-21 20:45';

function pageOf(...rows: readonly (readonly [date: string, seed: number, passed: number, failed: number])[]): string {
  const lines = rows.map(([date, seed, passed, failed]) => `| ${date} | 73c3333 | ${seed} | ${passed} | ${failed} | seeds 1000 | linux |`);
  return [
    '# simulation-calm',
    '',
    '| date | commit | seed | passed | failed | figures | machine |',
    '|---|---|---|---|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}

describe('the worlds of the ledger', () => {
  it('are those of all rows', () => {
    expect(runsPassed(pageOf(['2026-11-22 01:00', 10_000, 10, 0], ['2026-11-22 02:00', 20_000, 5, 0]), 1_000, SINCE)).toBe(15);
  });

  it('count once, however often they are run', () => {
    const again = ['2026-11-22 02:00', 15_000, 10, 0] as const;
    expect(runsPassed(pageOf(['2026-11-22 01:00', 10_000, 10, 0], again, again), 1_000, SINCE)).toBe(15);
  });

  it('leave out those that failed, although the row does not say which', () => {
    expect(runsPassed(pageOf(['2026-11-22 01:00', 10_000, 8, 2], ['2026-11-22 02:00', 10_000, 9, 1]), 1_000, SINCE)).toBe(8);
  });

  it('leave out those from before the promises were what they are', () => {
    expect(runsPassed(pageOf(['2026-11-21 20:27', 10_000, 10, 0], ['2026-11-21 20:50', 20_000, 5, 0]), 1_000, SINCE)).toBe(5);
  });
});
