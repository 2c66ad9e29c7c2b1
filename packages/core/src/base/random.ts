/**
 * Chance as core sees it: identities and jitter. The system's source of randomness is read in this
 * file only.
 */

export interface Random {
  /** An integer from 0 to 2³² − 1, evenly spread. */
  u32(): number;
}

export const systemRandom: Random = {
  u32: () => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
};

/** From 0, inclusive, to 1, exclusive. */
export function fraction(random: Random): number {
  return random.u32() / 2 ** 32;
}

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';

/** A name that nobody else has: 5 bits of chance a character. */
export function randomName(random: Random, length: number): string {
  let name = '';
  for (let i = 0; i < length; i += 1) name += ALPHABET[random.u32() % 32] ?? '';
  return name;
}
