/** Chance that repeats itself. */

import type { Random } from '../base/random.ts';

/** The same numbers for the same seed: splitmix, in 32 bits. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return {
    u32: () => {
      state = (state + 0x9e3779b9) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
      return (mixed ^ (mixed >>> 15)) >>> 0;
    },
  };
}
