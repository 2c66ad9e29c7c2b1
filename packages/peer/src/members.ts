/** Checks the list of members, which is the same for all members of a group. */

import { checkName, invalidOption, invalidText } from '@incumbent/core/adapter';

/**
 * Returns the member ids. Throws `INVALID_OPTION` or `INVALID_NAME` unless `members` lists 1 to
 * `most` valid names, each once.
 */
export function checkMembers(members: unknown, most: number): readonly string[] {
  if (!Array.isArray(members) || members.length === 0 || members.length > most)
    throw invalidOption('members', members, `a list of 1 to ${most} member ids`);
  const ids = members.map((id) => checkName('members', id));
  const known = new Set<string>();
  for (const id of ids) {
    if (known.has(id)) throw invalidText('members', id, 'listed once');
    known.add(id);
  }
  return ids;
}
