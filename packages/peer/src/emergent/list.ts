/**
 * The list of members: who is there, in which order they succeed one another, and who was lost.
 * Plain data, never changed; each change is a new version.
 */

import type { Contact } from '../algorithm.ts';
import type { Rules } from './options.ts';

export interface Entry extends Contact {
  /**
   * Drawn anew for each time that it joins: what a former one of the same id has said does not
   * count for this one.
   */
  readonly incarnation: number;
  readonly age: number;
  readonly standing: boolean;
}

export interface List {
  readonly version: number;
  /**
   * The key of whoever made this version. Somebody else may have made one of the same number: who
   * passes its place on, and the one that had claimed it already.
   */
  readonly maker: string;
  /** The version since which its first member has been the first. */
  readonly round: number;
  /**
   * In the order of succession: those that stand for election by age, then the others by age. The
   * first one coordinates; if it stands, it leads.
   */
  readonly members: readonly Entry[];
  /** Those that failed, or were thought to: to be looked for. */
  readonly lost: readonly Contact[];
  /** With `majority`: this is the minority of those ids. Empty: it is no minority. */
  readonly minorityOf: readonly string[];
}

/**
 * Whether the first one is the newer: by its number, and of one number by who made it. So all that
 * hear of both hold the same one for the newer.
 */
export function isNewer(one: Pick<List, 'version' | 'maker'>, other: Pick<List, 'version' | 'maker'>): boolean {
  return one.version > other.version || (one.version === other.version && one.maker > other.maker);
}

/** An id and an incarnation: one stay of one member. */
export function keyOf({ memberId, incarnation }: Pick<Entry, 'memberId' | 'incarnation'>): string {
  return `${memberId} ${incarnation}`;
}

/** Who keeps the list. No list is empty. */
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
 * Ages only order members. Only a false list has ages above this one: they begin anew at 1, as
 * higher ones could not be read.
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
  /** Ids that have left by themselves: nobody misses them. */
  readonly left?: readonly string[];
  /** No version below this one. */
  readonly least?: number;
  /** A new round, though the first member may be the same. */
  readonly anew?: boolean;
}

/** The next version. */
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
 * More than half of those that counted last are here; or half, the oldest among them. (Akka's keep-
 * majority.)
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
 * Of two lists whose coordinators know of each other, whether the first one's side is to join the
 * second one's: one that is a minority does, else the smaller one; of two of a size the one whose
 * coordinator's id comes later. A member that is in both counts for the newer list. Both sides find
 * the same.
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
