import type { Leadership } from 'incumbent';
import { emit } from '@incumbent/test-support/child';

const TELL_NS = 50_000_000n;

/** The range of time in which a leadership is valid. It is never valid again after its end. */
export class Validity {
  readonly #leadership: Leadership;
  #from: bigint | undefined;
  #last = 0n;
  #told = 0n;

  constructor(leadership: Leadership) {
    this.#leadership = leadership;
  }

  ask(): boolean {
    const at = process.hrtime.bigint();
    const isValid = this.#leadership.isValid();
    if (isValid) {
      this.#from ??= at;
      this.#last = at;
    }
    if (!isValid || at - this.#told > TELL_NS) this.tell();
    return isValid;
  }

  tell(): void {
    if (this.#from === undefined || this.#last === this.#told) return;
    emit('valid', { term: this.#leadership.term, from: this.#from, last: this.#last });
    this.#told = this.#last;
  }
}
