/**
 * The order in which candidates follow one another. A schedule only: whatever the order, at most
 * one leads. All candidates of one election must name the same succession; one that names another
 * is refused with `SUCCESSION_MISMATCH`.
 */

import { IncumbentError } from '../base/errors.ts';
import { checkFunction, checkName, checkNumber, invalidOption } from '../base/validate.ts';
import type { Entry, Key } from '../store/contract.ts';
import { readCandidate, tryRead } from './record.ts';

/** A candidate as its entry's name tells it. */
export interface Candidate {
  readonly memberId: string;
  readonly incarnation: string;
  /** What the succession put there: a priority, a hash; empty for most. */
  readonly rank: string;
  /** Rises with the time of joining. */
  readonly order: bigint;
}

export interface Succession {
  /** Stands in every entry's name. */
  readonly id: string;
  /**
   * A leader hands over when another candidate goes before it, at the pace of the member's
   * `rebalanceEveryMs`.
   */
  readonly rebalance: boolean;
  /** Only the time of joining counts: then a candidate needs to see just the ones before it. */
  readonly byArrival: boolean;
  /** What this member's entries carry. */
  rank(member: { readonly election: string; readonly memberId: string }): string;
  /**
   * Below 0 when `a` goes before `b`. Must be the same on every member, and total: 0 for none but a
   * candidate and itself.
   */
  compare(a: Candidate, b: Candidate): number;
}

function byOrder(a: Candidate, b: Candidate): number {
  return a.order < b.order ? -1 : Number(a.order > b.order);
}

export interface SuccessionOptions {
  /**
   * Whether a leader hands over to a candidate that is preferred to it, instead of leading for as
   * long as it can. Default false.
   */
  readonly rebalance?: boolean;
}

const fifo: Succession = { id: 'fifo', byArrival: true, rebalance: false, rank: () => '', compare: byOrder };

/** The default: who joined first leads first. */
export function firstComeFirstServed(): Succession {
  return fifo;
}

/**
 * The highest priority first, from −1,000,000 to 1,000,000, whole; among equals, who joined first.
 */
export function byPriority(priority: number, options: SuccessionOptions = {}): Succession {
  const rank = checkNumber('priority', priority, 0, { min: -1_000_000, max: 1_000_000 });
  if (!Number.isInteger(rank)) throw invalidOption('priority', priority, 'whole');
  return {
    id: 'priority',
    byArrival: false,
    rebalance: options.rebalance ?? false,
    rank: () => String(rank),
    compare: (a, b) => Number(b.rank) - Number(a.rank) || byOrder(a, b),
  };
}

/**
 * Each election prefers another member, by highest random weight (Thaler and Ravishankar, "Using
 * name-based mappings to increase hit rates", 1998): many elections spread evenly over the members,
 * and when a member goes, only its elections move.
 */
export function rendezvous(options: SuccessionOptions = {}): Succession {
  return {
    id: 'rendezvous',
    byArrival: false,
    rebalance: options.rebalance ?? false,
    rank: ({ election, memberId }) => weight(election, memberId).toString(16).padStart(8, '0'),
    compare: (a, b) => (a.rank === b.rank ? byOrder(a, b) : a.rank > b.rank ? -1 : 1),
  };
}

/**
 * Any order by the candidates' member ids. `id` names the order: members that compare differently
 * must not share it.
 */
export function byMemberId(id: string, compare: (a: string, b: string) => number, options: SuccessionOptions = {}): Succession {
  checkName('succession id', id);
  checkFunction('compare', compare);
  return {
    id: `id-${id}`,
    byArrival: false,
    rebalance: options.rebalance ?? false,
    rank: () => '',
    compare: (a, b) => compare(a.memberId, b.memberId) || byOrder(a, b),
  };
}

/**
 * The order behind an id that stands in entries' names, for those who only look; that of joining
 * where the id is somebody's own.
 */
export function byId(id: string | undefined): Succession {
  const known = [byPriority(0), rendezvous()].find((succession) => succession.id === id);
  return known ?? firstComeFirstServed();
}

/**
 * 32 bits of FNV-1a, stirred by the finalizer of MurmurHash3, as FNV alone spreads short names
 * badly.
 */
function weight(election: string, memberId: string): number {
  let hash = 0x811c9dc5;
  for (const char of `${election}\n${memberId}`) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The parts of an entry's name. `attempt` makes every campaign's name its own. */
export interface CandidateName {
  readonly memberId: string;
  readonly incarnation: string;
  readonly attempt: number;
  readonly succession: string;
  readonly rank: string;
}

export function writeName(name: CandidateName): string {
  return [name.memberId, name.incarnation, String(name.attempt), name.succession, name.rank].join('~');
}

/** Undefined for a name that is no candidate's. Parts that a later version may add are ignored. */
export function readName(name: string): CandidateName | undefined {
  const [memberId, incarnation, attempt, succession, rank] = name.split('~');
  if (memberId === undefined || incarnation === undefined || succession === undefined || rank === undefined) return undefined;
  return { memberId, incarnation, attempt: Number(attempt), succession, rank };
}

/** An entry of the queue, read. */
export interface QueueEntry extends Candidate {
  readonly entry: Entry;
}

/** The queue in the order of succession. Names that are no candidate's are left out. */
export function inSuccession(entries: readonly Entry[], succession: Succession): readonly QueueEntry[] {
  const queue: QueueEntry[] = [];
  for (const entry of entries) {
    const name = readName(entry.name);
    if (name === undefined) continue;
    queue.push({ entry, memberId: name.memberId, incarnation: name.incarnation, rank: name.rank, order: entry.order });
  }
  return queue.toSorted((a, b) => succession.compare(a, b));
}

/** Refuses to join a queue that is kept by another order: the ones who came before decide. */
export function checkSuccession(entries: readonly Entry[], mine: Entry, succession: Succession): void {
  for (const { name, order } of entries) {
    const other = readName(name)?.succession;
    if (other === undefined || other === succession.id || order >= mine.order) continue;
    throw new IncumbentError('SUCCESSION_MISMATCH', `candidates of this election follow by "${other}", this one by "${succession.id}"`, {
      details: { theirs: other, mine: succession.id },
    });
  }
}

export function checkSuccessionOption(succession: unknown): Succession {
  if (succession === undefined) return firstComeFirstServed();
  if (isSuccession(succession)) return succession;
  throw invalidOption(
    'succession',
    succession,
    'a Succession: firstComeFirstServed(), byPriority(n), rendezvous() or byMemberId(id, compare)',
  );
}

function isSuccession(value: unknown): value is Succession {
  return typeof value === 'object' && value !== null && 'id' in value && 'compare' in value && 'rank' in value && 'byArrival' in value;
}

/** Whom a handover names. */
export interface Successor {
  readonly entry: Entry;
  readonly memberId: string;
  readonly incarnation: string;
  /** Whether it is the first of those who wait. */
  readonly first: boolean;
}

/**
 * The one of this id, or the next in succession. One whose entry this version cannot read could not
 * be told, nor its value published.
 */
export function successorAmong(queue: readonly Entry[], leader: Key, succession: Succession, memberId?: string): Successor | undefined {
  const waiting = inSuccession(othersIn(queue, leader), succession);
  const successors = waiting.filter(({ entry }) => tryRead(readCandidate, entry) !== undefined);
  const successor = memberId === undefined ? successors[0] : successors.find((candidate) => candidate.memberId === memberId);
  return (
    successor && {
      entry: successor.entry,
      memberId: successor.memberId,
      incarnation: successor.incarnation,
      first: successor === waiting[0],
    }
  );
}

export function noSuccessor(election: string, queue: readonly Entry[], leader: Key, memberId: string | undefined): IncumbentError {
  const why = memberId === undefined ? 'there is no other candidate' : `"${memberId}" is not a candidate`;
  return new IncumbentError('NO_SUCH_CANDIDATE', `leadership of "${election}" cannot be handed over: ${why}`, {
    details: { memberId, candidates: othersIn(queue, leader).map(({ name }) => readName(name)?.memberId) },
  });
}

function othersIn(queue: readonly Entry[], leader: Key): readonly Entry[] {
  return queue.filter(({ key }) => key !== leader);
}
