import { describe, expect, it } from 'vitest';
import type { RunLine } from './runs.ts';
import { runsPassed } from './worlds.ts';

const SINCE = '2026-11-21 20:45';

function line(date: string, seed: number, passed: number, failed: number): RunLine {
  return { claim: 'simulation-calm', date, commit: '73c3333', seed, passed, failed, figures: {}, machine: 'linux' };
}

describe('the simulated worlds of the evidence', () => {
  it('are those of all lines', () => {
    expect(runsPassed([line('2026-11-22 01:00', 10_000, 10, 0), line('2026-11-22 02:00', 20_000, 5, 0)], 1_000, SINCE)).toBe(15);
  });

  it('count once, however often they are run', () => {
    const again = line('2026-11-22 02:00', 15_000, 10, 0);
    expect(runsPassed([line('2026-11-22 01:00', 10_000, 10, 0), again, again], 1_000, SINCE)).toBe(15);
  });

  it('leave out those that failed, although the line does not say which', () => {
    expect(runsPassed([line('2026-11-22 01:00', 10_000, 8, 2), line('2026-11-22 02:00', 10_000, 9, 1)], 1_000, SINCE)).toBe(8);
  });

  it('leave out those from before the checkers knew the promises of today', () => {
    expect(runsPassed([line('2026-11-21 20:27', 10_000, 10, 0), line('2026-11-21 20:50', 20_000, 5, 0)], 1_000, SINCE)).toBe(5);
  });
});
