import { outcomeOf, type Leadership, type Store } from 'incumbent';
import { emit } from '@incumbent/test-support/child';
import { workKey } from '../names.ts';

const CALL_MS = 1_000;

/** Writes one key per term in the store under guard, whether or not the leadership is valid. */
export class Journal {
  readonly #store: Store;
  readonly #leadership: Leadership;
  #expect: string | null = null;
  #isLost = false;
  #n = 0;

  constructor(store: Store, leadership: Leadership) {
    this.#store = store;
    this.#leadership = leadership;
  }

  async write(): Promise<void> {
    const { term } = this.#leadership;
    const n = (this.#n += 1);
    let from = process.hrtime.bigint();
    try {
      if (this.#isLost) this.#expect = (await this.#store.read(workKey(term), { timeoutMs: CALL_MS }))?.revision ?? null;
      this.#isLost = false;
      from = process.hrtime.bigint();
      const change = { key: workKey(term), expect: this.#expect, put: Buffer.from(String(n)) };
      const result = await this.#store.compareAndSwap([this.#leadership.guard(), change], { timeoutMs: CALL_MS });
      const isRefused = !result.swapped && result.failed.some(({ index }) => index === 0);
      if (result.swapped) this.#expect = result.revisions[1] ?? null;
      else this.#isLost = true;
      emit('swapped', { term, n, from, outcome: result.swapped ? 'swapped' : isRefused ? 'refused' : 'outOfDate' });
    } catch (error) {
      this.#isLost = true;
      emit('swapped', { term, n, from, outcome: outcomeOf(error) === 'unknown' ? 'unknown' : 'notDone' });
    }
  }
}
