/** Random numbers that repeat, for tests and simulations. */

import type { Random } from '../base/random.ts';

/** Gives the same numbers for the same seed, a 32-bit integer. (The algorithm is splitmix32.) */
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
