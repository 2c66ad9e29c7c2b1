/** The explorer finds each of these planted bugs. */

import { describe, expect, it } from 'vitest';
import { bugs } from '../support/explore/bugs.ts';
import { search } from '../support/explore/case.ts';
import { Broken } from '../support/explore/search.ts';

describe('a bug is found', () => {
  it.each(bugs)('$name: $about', ({ found, machine }) => {
    expect(() => search(found, machine)).toThrow(Broken);
  });

  it.each(bugs)('and nothing without it: $name', ({ found }) => {
    expect(search(found).states).toBeGreaterThan(100);
  });
});
