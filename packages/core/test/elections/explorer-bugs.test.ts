/** The explorer finds each of these planted bugs. */

import { describe, expect, it } from 'vitest';
import { bugs } from '../support/explore/bugs.ts';
import { search } from '../support/explore/case.ts';
import { Broken } from '../support/explore/search.ts';

// A search takes seconds of the processor, and many times that on a busy machine.
describe('a bug is found', { timeout: 300_000 }, () => {
  it.each(bugs)('$name: $about', ({ found, machine }) => {
    expect(() => search(found, machine)).toThrow(Broken);
  });

  it('because a member leads without a record, in a case without deletions', () => {
    const unknownIsYes = bugs.find(({ name }) => name === 'unknownIsYes');
    expect(unknownIsYes?.found.budget).toEqual({ lost: 1 });
    expect(() => search({ candidates: 2, budget: { lost: 1 } }, unknownIsYes?.machine)).toThrow('leads without a record');
  });

  it.each(bugs)('and nothing without it: $name', ({ found }) => {
    expect(search(found).states).toBeGreaterThan(100);
  });
});
