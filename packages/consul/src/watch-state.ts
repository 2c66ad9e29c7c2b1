import type { Pair, Target } from './protocol/kv.ts';

/** The result of one query, for all watches that share the query. */
export class WatchState {
  readonly #pairs: readonly Pair[];
  #byPath: ReadonlyMap<string, Pair> | undefined;

  constructor(pairs: readonly Pair[]) {
    this.#pairs = pairs;
  }

  /** The pairs of one watch. */
  of({ path, recurse }: Target): readonly Pair[] {
    if (recurse) return this.#pairs.filter((pair) => pair.path.startsWith(path));
    this.#byPath ??= new Map(this.#pairs.map((pair) => [pair.path, pair]));
    const pair = this.#byPath.get(path);
    return pair === undefined ? [] : [pair];
  }
}
