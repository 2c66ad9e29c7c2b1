/**
 * The list of members: who belongs to the cluster, in which order they succeed each other, and
 * which members were lost. A list is plain data and never changes; each change creates a new
 * version.
 */

import type { Contact } from '../algorithm.ts';
import type { Rules } from './options.ts';

export interface Entry extends Contact {
  /**
   * Drawn at random each time that the member joins. Messages of a former incarnation do not apply
   * to this one.
   */
  readonly incarnation: number;
  readonly age: number;
  readonly standing: boolean;
}

export interface List {
  readonly version: number;
  /**
   * The key of the member that created this version. Two members can create the same version: a
   * coordinator that passes its role on, and a member that has already claimed the role.
   */
  readonly maker: string;
  /** The version since which the first member has been the first. */
  readonly round: number;
  /**
   * In the order of succession: members that campaign by age, then the others by age. The first
   * member is the coordinator. It leads if it campaigns.
   */
  readonly members: readonly Entry[];
  /** Members that failed or seemed to fail. The coordinator searches for them. */
  readonly lost: readonly Contact[];
  /**
   * With `majority`: the ids of which this list holds only a minority. Empty: the list holds a
   * majority.
   */
  readonly minorityOf: readonly string[];
}

/**
 * Whether the first list is newer. Compares the versions, then the makers. So all members that
 * receive both lists agree on which one is newer.
 */
export function isNewer(one: Pick<List, 'version' | 'maker'>, other: Pick<List, 'version' | 'maker'>): boolean {
  return one.version > other.version || (one.version === other.version && one.maker > other.maker);
}

/** A member id and an incarnation: they identify one stay of a member in the cluster. */
export function keyOf({ memberId, incarnation }: Pick<Entry, 'memberId' | 'incarnation'>): string {
  return `${memberId} ${incarnation}`;
}

/** The member that keeps the list. No list is empty. */
export function coordinatorOf(list: List): Entry {
  const [first] = list.members;
  if (first === undefined) throw new Error('a list without members');
  return first;
}

export function indexOf(list: List, memberId: string): number {
  return list.members.findIndex((entry) => entry.memberId === memberId);
}

export function entryOf(list: List, memberId: string, incarnation: number): Entry | undefined {
  return list.members.find((entry) => entry.memberId === memberId && entry.incarnation === incarnation);
}

export function nextAge(members: readonly Entry[]): number {
  return members.reduce((most, { age }) => Math.max(most, age), 0) + 1;
}

/**
 * Ages only order the members. Only a forged list has a higher age. Then ages restart from 1,
 * because members could not read higher ones.
 */
const HIGHEST_AGE = 2 ** 52;

function withinAges(members: readonly Entry[]): readonly Entry[] {
  if (nextAge(members) <= HIGHEST_AGE) return members;
  return members.toSorted((a, b) => a.age - b.age).map((entry, i) => ({ ...entry, age: i + 1 }));
}

export function inOrder(members: readonly Entry[]): readonly Entry[] {
  return members.toSorted((a, b) => Number(b.standing) - Number(a.standing) || a.age - b.age);
}

export function isEnough({ minimumSize }: Rules, list: List): boolean {
  return list.members.length >= minimumSize && list.minorityOf.length === 0;
}

export interface Revision {
  readonly maker: string;
  readonly members: readonly Entry[];
  readonly lost?: readonly Contact[];
  /**
   * The ids of members that have left by themselves. They do not count when a majority is computed.
   */
  readonly left?: readonly string[];
  /** The lowest version that the new list may have. */
  readonly least?: number;
  /** Whether a new round starts, even if the first member stays the same. */
  readonly anew?: boolean;
}

/** Creates the next version of a list. */
export function revise(rules: Rules, list: List, revision: Revision): List {
  const { maker, members, lost = list.lost, left = [], least = 0, anew = false } = revision;
  const ordered = inOrder(withinAges(members));
  const version = Math.max(list.version + 1, least);
  const [before, first] = [list.members[0], ordered[0]];
  const isSame =
    !anew && before !== undefined && first !== undefined && keyOf(before) === keyOf(first) && before.standing === first.standing;
  const there = new Set(ordered.map(({ memberId }) => memberId));
  return {
    version,
    maker,
    round: isSame ? list.round : version,
    members: ordered,
    lost: lost.filter(({ memberId }) => !there.has(memberId)),
    minorityOf: rules.majority ? minorityOf(list, there, left) : [],
  };
}

/**
 * Returns an empty list if more than half of the members that counted last are present, or exactly
 * half including the oldest. Otherwise returns all of them. (Akka's keep-majority.)
 */
function minorityOf(list: List, there: ReadonlySet<string>, left: readonly string[]): readonly string[] {
  const counted = list.minorityOf.length > 0 ? list.minorityOf : list.members.map(({ memberId }) => memberId);
  const whole = counted.filter((id) => !left.includes(id));
  const here = whole.filter((id) => there.has(id)).length;
  const [oldest] = whole;
  if (2 * here > whole.length || (2 * here === whole.length && (oldest === undefined || there.has(oldest)))) return [];
  return whole;
}

/**
 * Whether the members of the first list must join those of the second, once their coordinators know
 * of each other. A minority joins a majority. Otherwise the smaller side joins the larger one; of
 * two equal sides, the one joins whose coordinator has the higher id. A member in both lists counts
 * for the newer list only. Both sides compute the same result.
 */
export function yields(ours: List, theirs: List): boolean {
  const [areWeFew, areTheyFew] = [ours.minorityOf.length > 0, theirs.minorityOf.length > 0];
  if (areWeFew !== areTheyFew) return areWeFew;
  const [ourSize, theirSize] = [sizeBeside(ours, theirs), sizeBeside(theirs, ours)];
  if (ourSize !== theirSize) return ourSize < theirSize;
  return coordinatorOf(ours).memberId > coordinatorOf(theirs).memberId;
}

function sizeBeside(one: List, other: List): number {
  const isLater = one.version > other.version;
  const keys = new Set(other.members.map(keyOf));
  return one.members.filter((entry) => isLater || !keys.has(keyOf(entry))).length;
}
