/** Many members at once, by seed. */

import { expect, it } from 'vitest';
import { crowd } from './crowd.ts';

it.each([1, 2])('seed %i: a hundred members join, some fail, a partition splits them in three, and they merge again', async (seed) => {
  const { problems } = await crowd(seed);
  expect(problems).toEqual([]);
});
