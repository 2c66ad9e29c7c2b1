/** What a query has read, for all who look through it. */

import type { Pair, Target } from './protocol/kv.ts';

export class Snapshot {
  readonly #pairs: readonly Pair[];
  #byPath: ReadonlyMap<string, Pair> | undefined;

  constructor(pairs: readonly Pair[]) {
    this.#pairs = pairs;
  }

  /** The part that one of them wants. */
  of({ path, recurse }: Target): readonly Pair[] {
    if (recurse) return this.#pairs.filter((pair) => pair.path.startsWith(path));
    this.#byPath ??= new Map(this.#pairs.map((pair) => [pair.path, pair]));
    const pair = this.#byPath.get(path);
    return pair === undefined ? [] : [pair];
  }
}
