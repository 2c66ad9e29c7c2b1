/**
 * Where things stand in the store's namespace. Users' own keys may stand beside these three
 * prefixes.
 */

import type { Key } from '../store/contract.ts';

/** What the keys of all elections stand under. */
export const ELECTIONS = 'elections';

/** The keys of one election. */
export interface ElectionKeys {
  /** Leased: who leads, and the value that the leader publishes. */
  readonly leader: Key;
  /** Never deleted: the last term issued, its holder's entry, and how it ended. */
  readonly term: Key;
  /** Leased: the queue. */
  readonly candidates: Key;
}

export function electionKeys(name: string): ElectionKeys {
  const root = `${ELECTIONS}/${name}`;
  return { leader: `${root}/leader`, term: `${root}/term`, candidates: `${root}/candidates` };
}

/** Leased: one per member. */
export function memberKey(memberId: string): Key {
  return `members/${memberId}`;
}

/** Leased: one per member that has joined. */
export function groupKey(name: string): Key {
  return `groups/${name}`;
}
