/**
 * The input that a worker is reading, in memory shared with the parent thread, so that the parent
 * knows it even if the worker hangs or dies.
 */

import { MAX_INPUT_BYTES } from './target.ts';

const [COUNT, LENGTH, HEADER_BYTES] = [0, 1, 8];

export class Mailbox {
  readonly memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(HEADER_BYTES + MAX_INPUT_BYTES)) {
    this.memory = memory;
    this.#header = new Int32Array(memory, 0, 2);
    this.#bytes = new Uint8Array(memory, HEADER_BYTES);
  }

  put(input: Uint8Array): void {
    const kept = input.subarray(0, MAX_INPUT_BYTES);
    this.#bytes.set(kept);
    Atomics.store(this.#header, LENGTH, kept.length);
    Atomics.add(this.#header, COUNT, 1);
  }

  /** Changes with each input. */
  get count(): number {
    return Atomics.load(this.#header, COUNT);
  }

  get input(): Uint8Array {
    return Uint8Array.from(this.#bytes.subarray(0, Atomics.load(this.#header, LENGTH)));
  }
}
