/** Planted bugs, each of which the worlds must find: else they would not find the next one that nobody has planted. */

import { describe, expect, it } from 'vitest';
import { find } from '../planted/find.ts';
import { bugs } from './planted/bugs.ts';

const MOST_WORLDS = 3_000;
const programs = { hook: import.meta.resolve('./planted/hook.ts'), hunt: import.meta.resolve('./planted/hunt.ts') };

describe('a bug is found', { timeout: 600_000 }, () => {
  it.each(bugs)('$name: $about', async ({ name }) => {
    const { promise, worlds } = await find({ name }, MOST_WORLDS, programs);
    expect(promise, `nothing in ${worlds} worlds`).toBeDefined();
  });
});
