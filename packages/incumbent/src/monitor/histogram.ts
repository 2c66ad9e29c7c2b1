import { renewals } from './families.ts';
import type { Labels } from './state.ts';

interface Distribution {
  readonly labels: Labels;
  readonly within: number[];
  sum: number;
  count: number;
}

/** Counts durations by upper bounds, in seconds. */
export class Histogram {
  readonly #all = new Map<string, Distribution>();

  add(labels: Labels, seconds: number): void {
    const key = JSON.stringify(labels);
    const known = this.#all.get(key) ?? { labels, within: renewals.bounds.map(() => 0), sum: 0, count: 0 };
    this.#all.set(key, known);
    for (const [index, bound] of renewals.bounds.entries()) if (seconds <= bound) known.within[index] = (known.within[index] ?? 0) + 1;
    known.sum += seconds;
    known.count += 1;
  }

  get all(): readonly (Omit<Distribution, 'within'> & {
    readonly counts: readonly { readonly atMost: number; readonly count: number }[];
  })[] {
    return [...this.#all.values()].map(({ labels, within, sum, count }) => ({
      ...{ labels, sum, count },
      counts: renewals.bounds.map((atMost, index) => ({ atMost, count: within[index] ?? 0 })),
    }));
  }
}
