/** Chance for algorithms, whose states are plain data: the state of the generator is in theirs. */

/** The next state of a seed, in 32 bits. (Splitmix.) */
export function nextSeed(seed: number): number {
  return (seed + 0x9e3779b9) >>> 0;
}

/** What a seed stands for: from 0, inclusive, to 1, exclusive. */
export function chanceOf(seed: number): number {
  let mixed = Math.imul(seed ^ (seed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
}
