/**
 * Random numbers for algorithms. Their states are plain data, so they hold the generator's state as
 * a seed.
 */

/** The seed that follows this one, in 32 bits. (Splitmix.) */
export function nextSeed(seed: number): number {
  return (seed + 0x9e3779b9) >>> 0;
}

/** The 32 random bits of a seed. */
export function bitsOf(seed: number): number {
  let mixed = Math.imul(seed ^ (seed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** The random number of a seed: at least 0 and below 1. */
export function randomOf(seed: number): number {
  return bitsOf(seed) / 2 ** 32;
}
