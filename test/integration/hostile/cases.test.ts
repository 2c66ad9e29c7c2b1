import { expect, it } from 'vitest';
import { CASES, caseOf } from './measure.ts';

it('as many runs as there are cases meet each case, and the first five meet each attack', () => {
  const runs = CASES.map((_, index) => caseOf(index));
  expect(new Set(runs)).toEqual(new Set(CASES));
  expect(new Set(runs.slice(0, 5).map(({ attack }) => attack)).size).toBe(5);
});
