/** Combinations of items, and tasks that run at the same time. */

/** Every sequence of `length` items, with repetition. */
export function tuples<T>(items: readonly T[], length: number): readonly (readonly T[])[] {
  if (length === 0) return [[]];
  return tuples(items, length - 1).flatMap((head) => items.map((item) => [...head, item]));
}

/**
 * Runs `task` on every item, at most `limit` at the same time. Rejects with the first failure,
 * after the running tasks have settled.
 */
export async function together<T>(items: readonly T[], limit: number, task: (item: T, index: number) => Promise<void>): Promise<void> {
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) await task(item, index);
  };
  const settled = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, worker));
  for (const outcome of settled) {
    const failure: unknown = outcome.status === 'rejected' ? outcome.reason : undefined;
    if (outcome.status === 'rejected') throw failure;
  }
}

/** The whole numbers from 0 to `count` − 1. */
export function times(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** The item at this index of the endlessly repeated list. */
export function cycle<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new RangeError('nothing to choose from');
  return item;
}
