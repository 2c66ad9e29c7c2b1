/** Checks the list of members, which is the same for all members of a group. */

import { checkName, invalidOption, invalidText } from '@incumbent/core/adapter';

/** What the checked options of every algorithm with listed members have in common. */
export interface ListedRules {
  readonly members: readonly string[];
  readonly heartbeatEveryMs: number;
  /**
   * How long after the sending of a heartbeat the members that received it elect no other leader,
   * in ms.
   */
  readonly leaseMs: number;
  /** The part of `leaseMs` in which the leadership is valid. The work has the rest to stop. */
  readonly validMs: number;
  /** Everything that all members must agree on, as text. */
  readonly configuration: string;
}

/**
 * Returns the member ids.
 *
 * @throws `INVALID_OPTION` or `INVALID_NAME` unless `members` lists 1 to `most` valid names, each
 * once.
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
