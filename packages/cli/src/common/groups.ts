/** The groups of a namespace. */

import type { CallOptions, Store } from '@incumbent/core';
import { isName } from '@incumbent/core/adapter';

const GROUPS = 'groups';

/**
 * The names of the groups that have members, sorted, with the number of their members. Leaves out
 * keys whose names no group can have.
 */
export async function groupSizes(store: Store, call: CallOptions): Promise<ReadonlyMap<string, number>> {
  const entries = await store.list(GROUPS, { ...call, values: false });
  const names = entries.map(({ key }) => key.split('/')[1]).filter(isName);
  const sizes = new Map<string, number>();
  for (const name of names.toSorted()) sizes.set(name, (sizes.get(name) ?? 0) + 1);
  return sizes;
}
