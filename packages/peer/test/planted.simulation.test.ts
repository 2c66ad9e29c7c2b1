/**
 * Plants bugs in the sources. The simulations must find each of them, which shows that they can
 * find others.
 */

import { describe, expect, it } from 'vitest';
import { bugs } from './planted/bugs.ts';
import { find } from './planted/find.ts';

const MOST_WORLDS = 6_000;

describe('a bug is found', () => {
  it.each(bugs)('$on, $name: $about', async (bug) => {
    const { promise, worlds } = await find(bug, MOST_WORLDS);
    expect(promise, `nothing in ${worlds} worlds`).toBeDefined();
  });

  it('a bug whose text is not in the source any more causes an error', async () => {
    await expect(find({ name: 'noSuchBug', on: 'quorum' }, 1)).rejects.toThrow('no such mutant: noSuchBug');
  });

  it('each bug has its own name', () => {
    expect(new Set(bugs.map(({ name }) => name)).size).toBe(bugs.length);
  });
});
