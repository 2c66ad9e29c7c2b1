/** Counts how many durations are at most as long as each bound. */

import { renewals } from './families.ts';
import { keyOf, type Labels } from './state.ts';

interface Bucket {
  /** The bound, in seconds. */
  readonly atMost: number;
  count: number;
}

/** The durations with the same labels, in seconds. */
export interface Distribution {
  readonly labels: Labels;
  readonly buckets: readonly Readonly<Bucket>[];
  readonly sum: number;
  readonly count: number;
}

/** The distributions of the renewals, one for each set of labels. */
export class Histogram {
  readonly #all = new Map<string, { readonly labels: Labels; readonly buckets: readonly Bucket[]; sum: number; count: number }>();

  add(labels: Labels, seconds: number): void {
    const key = keyOf(labels);
    const known = this.#all.get(key) ?? { labels, buckets: renewals.bounds.map((atMost) => ({ atMost, count: 0 })), sum: 0, count: 0 };
    this.#all.set(key, known);
    for (const bucket of known.buckets) if (seconds <= bucket.atMost) bucket.count += 1;
    known.sum += seconds;
    known.count += 1;
  }

  get all(): readonly Distribution[] {
    return [...this.#all.values()];
  }
}
