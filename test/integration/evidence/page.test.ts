import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { claims } from './claims.ts';
import { pageOf, type Claim } from './page.ts';
import { PAGE, readLines, type RunLine } from './runs.ts';

const claim: Claim = { name: 'blackhole', claim: 'It holds.', method: 'So.', command: 'pnpm verify blackhole', asks: '20 of 20 runs' };

function line(date: string, part: Partial<RunLine> = {}): RunLine {
  return { claim: 'blackhole', date, commit: '73c3333', seed: 1, passed: 10, failed: 0, figures: {}, machine: 'linux', ...part };
}

function rowOf(about: Claim, lines: readonly RunLine[]): string | undefined {
  return pageOf([about], lines)
    .split('\n')
    .find((row) => row.startsWith('| [blackhole]'));
}

describe('the row of a claim', () => {
  it('adds up the runs, and names the worst figure and the last commit', () => {
    const lines = [
      line('2026-11-21 10:00', { figures: { failoverMs: [1, 2, 3], marginMs: [600, 700, 800] } }),
      line('2026-11-22 10:00', { figures: { marginMs: [500, 700, 900] }, commit: 'f00' }),
    ];
    expect(rowOf(claim, lines)).toContain('| 20 of 20 runs | 20 | 0 | marginMs 500 | f00, 2026-11-22 |');
  });

  it('says how many runs have passed since the last failure', () => {
    const lines = [line('2026-11-21 10:00', { failed: 2 }), line('2026-11-22 10:00')];
    expect(rowOf(claim, lines)).toContain('| 20 | 2, none in the last 10 runs |');
  });

  it('counts only the latest search for each planted bug', () => {
    const lines = [
      line('2026-11-21 10:00', { part: 'a', passed: 0, failed: 1 }),
      line('2026-11-22 10:00', { part: 'a', passed: 1 }),
      line('2026-11-22 10:00', { part: 'b', passed: 1 }),
    ];
    expect(rowOf({ ...claim, latestOfPart: true }, lines)).toContain('| 2 | 0 |');
  });
});

describe('docs/verification/README.md', () => {
  it('is what `pnpm evidence` makes of the runs', () => {
    expect(readFileSync(PAGE, 'utf8')).toBe(pageOf(claims, readLines()));
  });

  it('has a row for the claim of every run', () => {
    const known = new Set(claims.map(({ name }) => name));
    expect([...new Set(readLines().map((run) => run.claim))].filter((name) => !known.has(name))).toEqual([]);
  });
});
