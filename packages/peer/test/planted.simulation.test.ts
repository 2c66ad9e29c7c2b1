/** Planted bugs, each of which the worlds must find: else they would not find the next one that nobody has planted. */

import { describe, expect, it } from 'vitest';
import { bugs } from './planted/bugs.ts';
import { find } from './planted/find.ts';

const MOST_WORLDS = 6_000;

describe('a bug is found', { timeout: 600_000 }, () => {
  it.each(bugs)('$name: $about', async ({ name }) => {
    const { promise, worlds } = await find(name, MOST_WORLDS);
    expect(promise, `nothing in ${worlds} worlds`).toBeDefined();
  });

  it('but not one that does not fit the source any more', async () => {
    await expect(find('noSuchBug', 1)).rejects.toThrow('no such bug: noSuchBug');
  });
});
