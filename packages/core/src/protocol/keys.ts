/**
 * The key schema. All keys of the SDK are under the prefixes `elections`, `members` and `groups` of
 * the store's namespace. Users may have keys of their own outside these prefixes.
 */

import type { Key } from '../store/contract.ts';

/** The prefix of the keys of all elections. */
export const ELECTIONS = 'elections';

/** The keys of one election. */
export interface ElectionKeys {
  /** Who leads, and the value that the leader publishes. Bound to the leader's lease. */
  readonly leader: Key;
  /** The last term issued, the entry of its holder, and how it ended. Never deleted. */
  readonly term: Key;
  /** The prefix of the queue. Each entry is bound to its candidate's lease. */
  readonly candidates: Key;
}

/** The keys of the election with this name. */
export function electionKeys(name: string): ElectionKeys {
  const root = `${ELECTIONS}/${name}`;
  return { leader: `${root}/leader`, term: `${root}/term`, candidates: `${root}/candidates` };
}

/** The key that a process holds while it has this member id. Bound to the member's lease. */
export function memberKey(memberId: string): Key {
  return `members/${memberId}`;
}

/** The prefix of a group. Each key under it is bound to the lease of a member that has joined. */
export function groupKey(name: string): Key {
  return `groups/${name}`;
}
