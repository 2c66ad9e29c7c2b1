/** Random numbers that repeat. */

import type { Random } from '../../src/index.ts';

export { seeded } from '../../src/testing.ts';

/** Always this part of the range: 0 is the lowest number, 1 the highest. */
export function always(part: number): Random {
  return { u32: () => Math.min(Math.floor(part * 2 ** 32), 2 ** 32 - 1) };
}
