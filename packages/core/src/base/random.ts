/**
 * Random numbers, for identities and jitter. Core gets them only through a {@link Random}, so that
 * a simulation can replay a run from a seed. Only this file reads the system's source.
 */

import { hasMethods, invalidOption } from './validate.ts';

/** A source of random numbers. Tests pass a seeded one. */
export interface Random {
  /** An integer from 0 to 2³² − 1, uniformly distributed. */
  u32(): number;
}

/** The system's cryptographic source. The default wherever a `random` can be passed. */
export const systemRandom: Random = {
  u32: () => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
};

/**
 * Returns the option `random`, or the system's source if it is undefined.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if it lacks the function.
 */
export function checkRandom(random: unknown): Random {
  if (random === undefined) return systemRandom;
  if (isRandom(random)) return random;
  throw invalidOption('random', random, 'a Random, with the function u32');
}

function isRandom(value: unknown): value is Random {
  return hasMethods(value, 'u32');
}

/** A number from 0 (included) to 1 (excluded). */
export function fraction(random: Random): number {
  return random.u32() / 2 ** 32;
}

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';

/** A random name of this length, with 5 random bits in each character. */
export function randomName(random: Random, length: number): string {
  let name = '';
  for (let i = 0; i < length; i += 1) name += ALPHABET[random.u32() % 32] ?? '';
  return name;
}
