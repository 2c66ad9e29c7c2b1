/**
 * The order in which candidates become leaders. The order does not affect safety: at most one
 * candidate leads, whatever the order is. All candidates of an election must use the same
 * succession. A candidate that joins with another one fails with `SUCCESSION_MISMATCH`.
 */

import { IncumbentError } from '../base/errors.ts';
import { checkBoolean, checkFunction, checkKnown, checkName, checkNumber, checkOneOf, invalidOption } from '../base/validate.ts';
import type { Entry } from '../store/contract.ts';
import { readCandidate, tryRead } from './record.ts';
import { compareVersions, precedenceOf } from './semver.ts';

/** The most candidates that an error names. Its details list all of them. */
const MAX_NAMED = 5;

/** A candidate, as a succession compares it. All of it is in the name of the candidate's entry. */
export interface Candidate {
  readonly memberId: string;
  readonly incarnation: string;
  /** The result of `Succession.rank`: a priority, a version, a hash, or empty. */
  readonly rank: string;
  /** Candidates that joined later have a higher order. */
  readonly order: bigint;
}

/** An order of candidates. Create one with the functions of this SDK. */
export interface Succession {
  /** Part of the name of every entry, so that members notice if they use different successions. */
  readonly id: string;
  /**
   * True if a leader hands over to a candidate that goes before it. Each member checks some of its
   * leaderships every `rebalanceEveryMs`.
   */
  readonly rebalance: boolean;
  /**
   * True if only the time of joining counts. Then a candidate reads only the entries before its
   * own.
   */
  readonly byArrival: boolean;
  /** The rank of a member: the part of the order that goes into the name of its entry. */
  rank(member: { readonly election: string; readonly memberId: string }): string;
  /**
   * Returns a number below 0 if `a` goes before `b`, and above 0 if `b` goes before `a`. Every
   * member must get the same result. 0 only for a candidate and itself.
   */
  compare(a: Candidate, b: Candidate): number;
}

function byOrder(a: Candidate, b: Candidate): number {
  return a.order < b.order ? -1 : Number(a.order > b.order);
}

/** The options that every succession has. */
export interface SuccessionOptions {
  /**
   * True if a leader hands over to a candidate that goes before it. False if a leader leads for as
   * long as it can. Default false.
   */
  readonly rebalance?: boolean | undefined;
}

const fifo: Succession = { id: 'fifo', byArrival: true, rebalance: false, rank: () => '', compare: byOrder };

/** The order of joining. The default. */
export function firstComeFirstServed(): Succession {
  return fifo;
}

/** The priorities of `byPriority`. */
export const PRIORITY_RANGE = { min: -1_000_000, max: 1_000_000 } as const;

/**
 * The highest priority goes first. Members with the same priority go in the order of joining.
 *
 * @param priority The priority of this member: an integer from −1,000,000 to 1,000,000.
 * @throws `INVALID_OPTION` for any other priority, and for wrong options.
 */
export function byPriority(priority: number, options: SuccessionOptions = {}): Succession {
  const rank = checkNumber('priority', priority, 0, PRIORITY_RANGE);
  if (!Number.isInteger(rank)) throw invalidOption('priority', priority, 'whole');
  return {
    id: 'priority',
    byArrival: false,
    rebalance: rebalanceOf(options),
    rank: () => String(rank),
    compare: (a, b) => Number(b.rank) - Number(a.rank) || byOrder(a, b),
  };
}

/**
 * Orders the members by the version of their program, by the precedence of Semantic Versioning
 * 2.0.0. Members with the same version go in the order of joining.
 *
 * With `'newest'`, a deployment changes leaders once if it starts a new process before it stops the
 * leader: each leader that stops hands over to a new process, which no longer stops. With
 * `'oldest'`, no new process leads while an old candidate is there, so data in a new format appears
 * only after the last old process has gone. A deployment then changes leaders each time it stops
 * the leader.
 *
 * @param version The version of this member: 1 to 64 characters such as `1.4.0` or `2.0.0-rc.1`.
 *   Build metadata after `+` does not count.
 * @throws `INVALID_OPTION` for another version, for another `first`, and for wrong options.
 */
export function byVersion(version: string, first: 'oldest' | 'newest', options: SuccessionOptions = {}): Succession {
  const rank = precedenceOf(version);
  if (rank === undefined) throw invalidOption('version', version, 'a version of at most 64 characters, such as 1.4.0 or 2.0.0-rc.1');
  if (first === undefined) throw invalidOption('first', first, '"oldest" or "newest"');
  const sign = checkOneOf('first', first, 'newest', ['oldest', 'newest']) === 'newest' ? -1 : 1;
  return {
    id: `version-${first}`,
    byArrival: false,
    rebalance: rebalanceOf(options),
    rank: () => rank,
    compare: (a, b) => sign * compareVersions(a.rank, b.rank) || byOrder(a, b),
  };
}

/**
 * Spreads many elections over the members: each election orders the members by a hash of both
 * names. When a member leaves, only its elections move. The hash does not bound the load of a
 * member: the busiest of 3 members has 1.31 times the average of 16 elections in the median, and
 * 1.08 times that of 300. Use member ids that stay the same across restarts: with new ids, most
 * elections move. (The algorithm is highest random weight: Thaler and Ravishankar, "Using
 * name-based mappings to increase hit rates", 1998.)
 *
 * @throws `INVALID_OPTION` for wrong options.
 */
export function rendezvous(options: SuccessionOptions = {}): Succession {
  return {
    id: 'rendezvous',
    byArrival: false,
    rebalance: rebalanceOf(options),
    rank: ({ election, memberId }) => weight(election, memberId).toString(16).padStart(8, '0'),
    compare: (a, b) => (a.rank === b.rank ? byOrder(a, b) : a.rank > b.rank ? -1 : 1),
  };
}

/**
 * An order of your own, by member id. Members with equal ids go in the order of joining.
 *
 * @param id The name of the order. Use a new name if you change `compare`.
 * @param compare Returns a number below 0 if the member `a` goes before the member `b`.
 * @throws `INVALID_NAME` for an `id` that is not a name. `INVALID_OPTION` if `compare` is not a
 *   function, and for wrong options.
 */
export function byMemberId(id: string, compare: (a: string, b: string) => number, options: SuccessionOptions = {}): Succession {
  checkName('succession id', id);
  checkFunction('compare', compare);
  return {
    id: `id-${id}`,
    byArrival: false,
    rebalance: rebalanceOf(options),
    rank: () => '',
    compare: (a, b) => compare(a.memberId, b.memberId) || byOrder(a, b),
  };
}

function rebalanceOf(options: SuccessionOptions): boolean {
  checkKnown('succession', options, ['rebalance']);
  return checkBoolean('rebalance', options.rebalance, false);
}

/**
 * The succession with this id, for readers that do not campaign. Falls back to the order of joining
 * if the user defined the succession.
 */
export function byId(id: string | undefined): Succession {
  const known = [byPriority(0), rendezvous(), byVersion('0.0.0', 'oldest'), byVersion('0.0.0', 'newest')].find(
    (succession) => succession.id === id,
  );
  return known ?? firstComeFirstServed();
}

/** A 32-bit FNV-1a hash with the finalizer of MurmurHash3: FNV alone spreads short names badly. */
function weight(election: string, memberId: string): number {
  let hash = 0x811c9dc5;
  for (const char of `${election}\n${memberId}`) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The parts of an entry's name. `attempt` counts a member's campaigns, so each name is unique. */
export interface CandidateName {
  readonly memberId: string;
  readonly incarnation: string;
  readonly attempt: number;
  readonly succession: string;
  readonly rank: string;
}

/** Joins the parts to the name of an entry. */
export function writeName(name: CandidateName): string {
  return [name.memberId, name.incarnation, String(name.attempt), name.succession, name.rank].join('~');
}

/**
 * Splits the name of an entry. Undefined if the SDK did not make the name. Ignores further parts,
 * which a later version may add.
 */
export function readName(name: string): CandidateName | undefined {
  const [memberId, incarnation, attempt, succession, rank] = name.split('~');
  if (memberId === undefined || incarnation === undefined || succession === undefined || rank === undefined) return undefined;
  return { memberId, incarnation, attempt: Number(attempt), succession, rank };
}

/** An entry of the queue with the parts of its name. */
export interface QueueEntry extends Candidate {
  readonly entry: Entry;
}

/** Sorts the queue in the order of succession. Leaves out names that the SDK did not make. */
export function inSuccession(entries: readonly Entry[], succession: Succession): readonly QueueEntry[] {
  const queue: QueueEntry[] = [];
  for (const entry of entries) {
    const name = readName(entry.name);
    if (name === undefined) continue;
    queue.push({ entry, memberId: name.memberId, incarnation: name.incarnation, rank: name.rank, order: entry.order });
  }
  return queue.toSorted((a, b) => succession.compare(a, b));
}

/** Throws `SUCCESSION_MISMATCH` if a candidate that joined before uses another succession. */
export function checkSuccession(entries: readonly Entry[], mine: Entry, succession: Succession): void {
  for (const { name, order } of entries) {
    const other = readName(name)?.succession;
    if (other === undefined || other === succession.id || order >= mine.order) continue;
    const message = `earlier candidates of this election use the succession "${other}", and this one uses "${succession.id}"`;
    throw new IncumbentError('SUCCESSION_MISMATCH', message, { details: { theirs: other, mine: succession.id } });
  }
}

/**
 * Returns the succession, or the default.
 *
 * @throws {TypeError} `INVALID_OPTION` for anything else.
 */
export function checkSuccessionOption(succession: unknown): Succession {
  if (succession === undefined) return firstComeFirstServed();
  if (isSuccession(succession)) return succession;
  throw invalidOption(
    'succession',
    succession,
    'a Succession: firstComeFirstServed(), byPriority(n), byVersion(version, first), rendezvous() or byMemberId(id, compare)',
  );
}

function isSuccession(value: unknown): value is Succession {
  return typeof value === 'object' && value !== null && 'id' in value && 'compare' in value && 'rank' in value && 'byArrival' in value;
}

/** The candidate that a leader hands over to. */
export interface Successor {
  readonly entry: Entry;
  readonly memberId: string;
  readonly incarnation: string;
  /** True if it is the first of the waiting candidates. */
  readonly nobodyAhead: boolean;
}

/**
 * Returns the candidate with this member id, or the next in succession. Skips entries that this
 * version cannot read: a handover has to write into the entry, and may publish its value. Of two
 * processes with that id, the one that joined later is the live one.
 *
 * @param incarnation Of the leader. Its other entries are left over from earlier campaigns.
 */
export function successorAmong(
  queue: readonly Entry[],
  incarnation: string,
  succession: Succession,
  memberId?: string,
): Successor | undefined {
  const waiting = inSuccession(withoutOwn(queue, incarnation), succession);
  const successors = waiting.filter(({ entry }) => tryRead(readCandidate, entry) !== undefined);
  const successor = memberId === undefined ? successors[0] : newestOf(successors, memberId);
  return (
    successor && {
      entry: successor.entry,
      memberId: successor.memberId,
      incarnation: successor.incarnation,
      nobodyAhead: successor === waiting[0],
    }
  );
}

/** The error of a handover that found no candidate to hand over to. */
export function noSuccessor(election: string, queue: readonly Entry[], incarnation: string, memberId: string | undefined): IncumbentError {
  const candidates = memberIdsOf(withoutOwn(queue, incarnation));
  const to = memberId === undefined ? '' : ` to "${memberId}"`;
  return new IncumbentError('NO_SUCH_CANDIDATE', `leadership of "${election}" cannot be handed over${to}: ${choiceOf(candidates)}`, {
    details: { memberId, candidates },
  });
}

/** Names the candidates that a leader could hand over to, the first of them if they are many. */
export function choiceOf(memberIds: readonly string[]): string {
  const names = [...new Set(memberIds)].map((memberId) => `"${memberId}"`);
  if (names.length === 0) return 'there is no other candidate';
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return `the other ${names.length === 1 ? 'candidate is' : 'candidates are'} ${names.slice(0, MAX_NAMED).join(', ')}${more}`;
}

/** The member ids of these entries, without those of entries that this version cannot read. */
export function memberIdsOf(entries: readonly Entry[]): readonly string[] {
  return entries.map(({ name }) => readName(name)?.memberId).filter((memberId) => memberId !== undefined);
}

function withoutOwn(queue: readonly Entry[], incarnation: string): readonly Entry[] {
  return queue.filter(({ name }) => readName(name)?.incarnation !== incarnation);
}

/** The candidate with this member id. Its former process may have left an entry behind. */
function newestOf(candidates: readonly QueueEntry[], memberId: string): QueueEntry | undefined {
  return candidates
    .filter((candidate) => candidate.memberId === memberId)
    .toSorted(byOrder)
    .at(-1);
}
