/** What a run did, as a hash: two runs that differ in one event differ in it. */

import { hashOf } from './random.ts';

/** The name of a step, which has none. */
const STEP = hashOf('') | 0;

export class Trace {
  // Signed 32 bits, as all that is mixed in: V8 computes with such numbers without making objects of them.
  #low = 0x9e3779b9 | 0;
  #high = 0x85ebca6b | 0;
  readonly #names = new Map<string, number>();

  /** Something happened, at a moment in ms. */
  add(name: string, atMs: number): void {
    this.#mixAll(this.#numberOf(name), atMs, 0);
  }

  /** The world has come to a moment in ms, and so many things were to happen until now. */
  step(atMs: number, count: number): void {
    this.#mixAll(STEP, atMs, count);
  }

  /** 16 hexadecimal digits. */
  get hash(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #mixAll(name: number, atMs: number, count: number): void {
    this.#mix(name);
    this.#mix(Math.floor(atMs));
    this.#mix(count);
  }

  #mix(value: number): void {
    this.#low = Math.imul(((this.#low ^ value) + (this.#high << 7)) | 0, 0x01000193);
    this.#high = (Math.imul(this.#high ^ this.#low ^ (this.#low >>> 15), 0x85ebca6b) + 0x3c6ef372) | 0;
  }

  /** Names are few and come again and again. */
  #numberOf(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const number = hashOf(name) | 0;
    this.#names.set(name, number);
    return number;
  }
}
