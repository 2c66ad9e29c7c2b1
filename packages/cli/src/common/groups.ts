/** The groups of a namespace. */

import type { CallOptions, Store } from '@incumbent/core';

const GROUPS = 'groups';

/** The names of the groups that have members, sorted, with the number of their members. */
export async function groupSizes(store: Store, call: CallOptions): Promise<ReadonlyMap<string, number>> {
  const entries = await store.list(GROUPS, { ...call, values: false });
  const sizes = new Map<string, number>();
  for (const { key } of entries.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const name = key.split('/')[1] ?? '';
    sizes.set(name, (sizes.get(name) ?? 0) + 1);
  }
  return sizes;
}
