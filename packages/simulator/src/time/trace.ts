/** What a run did, as a hash: two runs that differ in one event differ in it. */

import { hashOf } from './random.ts';

export class Trace {
  #low = 0x9e3779b9;
  #high = 0x85ebca6b;
  readonly #names = new Map<string, number>();

  /** Something happened, at a moment in ms. */
  add(name: string, atMs: number, count = 0): void {
    this.#mix(this.#numberOf(name));
    this.#mix(Math.floor(atMs));
    this.#mix(count);
  }

  /** 16 hexadecimal digits. */
  get hash(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #mix(value: number): void {
    this.#low = Math.imul((this.#low ^ value) + (this.#high << 7), 0x01000193);
    this.#high = Math.imul(this.#high ^ this.#low ^ (this.#low >>> 15), 0x85ebca6b) + 0x3c6ef372;
  }

  /** Names are few and come again and again. */
  #numberOf(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const number = hashOf(name);
    this.#names.set(name, number);
    return number;
  }
}
