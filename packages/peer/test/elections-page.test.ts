/**
 * docs/peer-elections.md is up to date, and its message counts agree with the papers.
 * `test/stage/page.ts` writes the page.
 */

import { describe, expect, it } from 'vitest';
import type { Name } from './best-effort/algorithms.ts';
import { costOf } from './stage/count.ts';
import { page, written } from './stage/page.ts';

// A watchdog: it computes for some seconds on a quiet machine.
it('the page of the best-effort algorithms is up to date', { timeout: 300_000 }, () => {
  expect(page()).toBe(written());
});

describe('the messages of an election of n members', () => {
  const sizes = [5, 9, 33];

  it.each([
    ['nextInLine', 'a call, an answer, and the word to all: n + 1', (n: number) => n + 1],
    ['candidateOrdinary', 'two candidates are left, and answer; and the word to all: n + 3', (n: number) => n + 3],
    ['ring', 'twice around, the dead one included: 2n', (n: number) => 2 * n],
    ['bully', 'all above, their answers, a grant, and the word to all: 3n - 3', (n: number) => 3 * n - 3],
  ] as const)('%s: %s', (name: Name, _, formula) => {
    const measured = sizes.map((n) => costOf(name, n, name === 'candidateOrdinary' ? 'ordinary' : 'lowest').messages);
    expect(measured).toEqual(sizes.map(formula));
  });

  it('bully: about n² if all members notice the crash at once', () => {
    for (const n of sizes) expect(costOf('bully', n, undefined).messages / n ** 2).toBeCloseTo(1, 0);
  });

  it.each(['nextInLine', 'candidateOrdinary', 'ring'] as const)('%s: at most 3n if all members notice the crash at once', (name) => {
    for (const n of sizes) expect(costOf(name, n, undefined).messages).toBeLessThanOrEqual(3 * n);
  });
});
