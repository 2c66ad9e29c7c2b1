/** Reproducible random numbers: the same stream for the same seed and labels on every machine. */

import type { Random } from '@incumbent/core';

/**
 * Pseudo-random numbers by sfc32 (C. Doty-Humphrey, PractRand), which uses only 32-bit integer
 * arithmetic.
 */
export class Stream implements Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** Two streams with the same seeds are equal. */
  constructor(a: number, b: number, c: number) {
    this.#a = a | 0;
    this.#b = b | 0;
    this.#c = c | 0;
    for (let i = 0; i < 12; i += 1) this.u32();
  }

  u32(): number {
    const mixed = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + mixed) | 0;
    return mixed >>> 0;
  }

  /** A whole number from 0 to `count` − 1. */
  below(count: number): number {
    return Math.floor((this.u32() / 2 ** 32) * count);
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True with this probability: 0 is never, 1 is always. */
  chance(part: number): boolean {
    return this.u32() < part * 2 ** 32;
  }

  /**
   * A random item.
   *
   * @throws {RangeError} If there are no items.
   */
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('nothing to choose from');
    return item;
  }
}

/**
 * The stream of a seed for these labels. What one stream draws does not affect any other stream.
 */
export function streamOf(seed: number, ...labels: readonly (string | number)[]): Stream {
  const label = labels.join('/');
  return new Stream(hashOf(label, seed), hashOf(label, seed ^ 0x5bd1e995), seed);
}

/** 32 bits of FNV-1a from a start value, mixed by the finalizer of MurmurHash3. */
export function hashOf(text: string, start = 0): number {
  let hash = start ^ 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
