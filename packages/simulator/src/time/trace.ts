/** Hashes the events of a run. Two runs that differ in one event have different hashes. */

import { hashOf } from './random.ts';

/** The hash of a step, which has no name. */
const STEP = hashOf('') | 0;

/** A hash of everything that happens in a world, to compare two runs of one seed. */
export class Trace {
  // Signed 32 bits, like everything that is mixed in, so that V8 allocates no objects.
  #low = 0x9e3779b9 | 0;
  #high = 0x85ebca6b | 0;
  readonly #names = new Map<string, number>();

  /** Adds an event at a moment in ms. */
  add(name: string, atMs: number): void {
    this.#mixAll(this.#numberOf(name), atMs, 0);
  }

  /** Adds a part of the event that was added last. */
  addText(text: string): void {
    this.#mix(this.#numberOf(text));
  }

  /** World time has advanced to a moment in ms, with this many entries created until now. */
  step(atMs: number, count: number): void {
    this.#mixAll(STEP, atMs, count);
  }

  /** The hash as 16 hexadecimal digits. */
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

  /** Caches the hashes of texts, because there are few texts and many events. */
  #numberOf(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const number = hashOf(name) | 0;
    this.#names.set(name, number);
    return number;
  }
}
