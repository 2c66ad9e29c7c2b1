/** A table in memory that remembers the highest term, as a database would in a row of its own. */

import { Fence } from 'incumbent';

export class Runs {
  readonly rows: { readonly run: number; readonly term: bigint }[] = [];
  readonly #fence = new Fence();

  /** @throws `STALE_TERM` after a newer term. */
  last(term: bigint): number {
    this.#fence.admit(term);
    return this.rows.at(-1)?.run ?? 0;
  }

  /** @throws `STALE_TERM` after a newer term. */
  start(run: number, term: bigint): void {
    this.#fence.admit(term);
    this.rows.push({ run, term });
  }

  /** @throws An error unless every run was started once, in order. */
  assertOnce(): void {
    for (const [index, { run, term }] of this.rows.entries())
      if (run !== index + 1) throw new Error(`run ${run} was started in term ${term} after run ${index}`);
  }
}
