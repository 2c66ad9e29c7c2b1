/**
 * What members say to one another in elections by best effort: a few words that all of them have,
 * and those of each. Every message carries the newest round that its sender knows of, or speaks of.
 */

import { isCount, isRecord } from '../reading.ts';

/**
 * How often a leader has failed lately; `round`: the one of its latest failure, so that what two
 * have noticed counts once.
 */
export interface Failure {
  readonly id: string;
  readonly round: number;
  /** Fading: half of it is forgiven after a while. */
  readonly count: number;
}

type CommonMessage =
  /** I lead this round. */
  | {
      readonly type: 'heartbeat';
      readonly round: number;
      readonly weight: number;
      /** Who is to lead next, the first one first; none where the algorithm names none. */
      readonly successors: readonly string[];
      readonly failures: readonly Failure[];
    }
  /** I follow you. `standing`: and would lead. */
  | { readonly type: 'heartbeatAnswer'; readonly round: number; readonly standing: boolean; readonly failures: readonly Failure[] }
  /**
   * This one leads this round: its sender, or whoever an election that its sender held has come out
   * for.
   */
  | { readonly type: 'elected'; readonly round: number; readonly leader: string; readonly weight: number }
  /** I lead this round no longer. */
  | { readonly type: 'resigned'; readonly round: number }
  /**
   * I lead this round no longer: lead the next one. `group`: who else is to be told, where that is
   * not everybody.
   */
  | { readonly type: 'handover'; readonly round: number; readonly group: readonly string[] }
  /** I have been asked, and am there. `standing`: and would lead. */
  | { readonly type: 'alive'; readonly round: number; readonly standing: boolean; readonly weight: number };

export type OwnMessage =
  /** Bully: are you there? */
  | { readonly type: 'election'; readonly round: number }
  /** Bully: you are the best of those that are there. */
  | { readonly type: 'grant'; readonly round: number }
  /** Next in line: the leader is dead, and has named you. */
  | { readonly type: 'takeOver'; readonly round: number }
  /** Candidate/ordinary: candidate, are you there? */
  | { readonly type: 'poll'; readonly round: number }
  /**
   * Ring, first time around: who is there? `live`: those that have said so, or the best of them
   * only.
   */
  | {
      readonly type: 'collect';
      readonly round: number;
      readonly initiator: string;
      readonly attempt: number;
      readonly hops: number;
      readonly live: readonly string[];
    }
  /** Ring, second time around: this one leads this round. */
  | {
      readonly type: 'announce';
      readonly round: number;
      readonly initiator: string;
      readonly attempt: number;
      readonly hops: number;
      readonly leader: string;
    }
  /** Ring: I have it, and pass it on. */
  | { readonly type: 'passed'; readonly round: number; readonly initiator: string; readonly attempt: number; readonly phase: RingPhase }
  /** Invitation: join my group, which has so many members. */
  | { readonly type: 'invite'; readonly round: number; readonly size: number }
  /** Invitation: we join your group. `onward`: they had joined mine, and I have joined yours. */
  | { readonly type: 'accept'; readonly round: number; readonly group: readonly string[]; readonly onward: boolean }
  /** Invitation: I am in this one's group. */
  | { readonly type: 'redirect'; readonly round: number; readonly leader: string }
  /** Invitation, to a group by its leader: we join this one's group. */
  | { readonly type: 'moved'; readonly round: number; readonly leader: string };

type RingPhase = 'collect' | 'announce';
export type BestEffortMessage = CommonMessage | OwnMessage;
export type Say<T extends BestEffortMessage['type']> = Extract<BestEffortMessage, { type: T }>;

/** More failures than these are not told of: a message must fit into a frame. */
export const MAX_FAILURES = 16;

/**
 * The last round. Rounds are hints, so they need not rise for ever: after the last one comes the
 * last one again, and every round that is said can be read. Only a false message takes a group
 * there.
 */
const MAX_ROUND = 2 ** 52;

export function nextRound(round: number): number {
  return Math.min(round + 1, MAX_ROUND);
}

/**
 * Whether a word of that round comes after a leadership in the other. In the last round nobody can
 * tell.
 */
export function isAfter(round: number, led: number): boolean {
  return round > led || round === MAX_ROUND;
}

type Ids = ReadonlyMap<string, unknown>;

/**
 * The message that these data are, and nothing else of them; undefined: none, or one that names a
 * stranger.
 */
export function readMessage(members: Ids, data: unknown): BestEffortMessage | undefined {
  if (!isRecord(data)) return undefined;
  const { type, round } = data;
  if (typeof type !== 'string' || !isCount(round) || round > MAX_ROUND) return undefined;
  return readCommon(members, type, round, data) ?? readRing(members, type, round, data) ?? readOwn(members, type, round, data);
}

type Data = Readonly<Record<string, unknown>>;

function readCommon(members: Ids, type: string, round: number, data: Data): BestEffortMessage | undefined {
  const { weight, successors, failures, standing, leader, group } = data;
  switch (type) {
    case 'heartbeat': {
      const fits = isWeight(weight) && isList(members, successors) && isFailures(members, failures);
      return fits ? { type, round, weight, successors, failures: failures.map(onlyFailure) } : undefined;
    }
    case 'heartbeatAnswer':
      return typeof standing === 'boolean' && isFailures(members, failures)
        ? { type, round, standing, failures: failures.map(onlyFailure) }
        : undefined;
    case 'elected':
      return isMember(members, leader) && isWeight(weight) ? { type, round, leader, weight } : undefined;
    case 'resigned':
      return { type, round };
    case 'handover':
      return isList(members, group) ? { type, round, group } : undefined;
    case 'alive':
      return typeof standing === 'boolean' && isWeight(weight) ? { type, round, standing, weight } : undefined;
    default:
      return undefined;
  }
}

function readRing(members: Ids, type: string, round: number, data: Data): BestEffortMessage | undefined {
  const { initiator, attempt, hops, live, leader, phase } = data;
  if (!isMember(members, initiator) || !isCount(attempt)) return undefined;
  switch (type) {
    case 'collect':
      return isCount(hops) && isList(members, live) ? { type, round, initiator, attempt, hops, live } : undefined;
    case 'announce':
      return isCount(hops) && isMember(members, leader) ? { type, round, initiator, attempt, hops, leader } : undefined;
    case 'passed':
      return phase === 'collect' || phase === 'announce' ? { type, round, initiator, attempt, phase } : undefined;
    default:
      return undefined;
  }
}

function readOwn(members: Ids, type: string, round: number, { size, group, leader, onward }: Data): BestEffortMessage | undefined {
  switch (type) {
    case 'election':
    case 'grant':
    case 'takeOver':
    case 'poll':
      return { type, round };
    case 'invite':
      return isCount(size) && size > 0 ? { type, round, size } : undefined;
    case 'accept':
      return isList(members, group) && typeof onward === 'boolean' ? { type, round, group, onward } : undefined;
    case 'redirect':
    case 'moved':
      return isMember(members, leader) ? { type, round, leader } : undefined;
    default:
      return undefined;
  }
}

function isMember(members: Ids, value: unknown): value is string {
  return typeof value === 'string' && members.has(value);
}

function isList(members: Ids, value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= members.size && value.every((id) => isMember(members, id));
}

function isWeight(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

function isFailures(members: Ids, value: unknown): value is readonly Failure[] {
  return Array.isArray(value) && value.length <= MAX_FAILURES && value.every((one) => isFailure(members, one));
}

function onlyFailure({ id, round, count }: Failure): Failure {
  return { id, round, count };
}

function isFailure(members: Ids, value: unknown): value is Failure {
  if (!isRecord(value)) return false;
  const { id, round, count } = value;
  return isMember(members, id) && isCount(round) && typeof count === 'number' && count >= 0 && count <= 1_000;
}
