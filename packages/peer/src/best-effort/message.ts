/**
 * The messages of the best-effort algorithms: the common ones, and those of each algorithm. Every
 * message carries the newest round that its sender knows, or the round that the message is about.
 */

import { isCount, isRecord } from '../reading.ts';

/**
 * How often a leader has failed lately. `round` is the round of its latest failure: if two members
 * report the same failure, it counts once.
 */
export interface Failure {
  readonly id: string;
  readonly round: number;
  /** Fades over time: half of it remains after `forgiveMs`. */
  readonly count: number;
}

type CommonMessage =
  /** I lead this round. */
  | {
      readonly type: 'heartbeat';
      readonly round: number;
      readonly weight: number;
      /** The leader's successors, the first one first. Empty if the algorithm names none. */
      readonly successors: readonly string[];
      readonly failures: readonly Failure[];
    }
  /** I follow you. `standing`: whether I campaign. */
  | { readonly type: 'heartbeatAnswer'; readonly round: number; readonly standing: boolean; readonly failures: readonly Failure[] }
  /** `leader` leads this round. It is the sender, or the winner of the sender's election. */
  | { readonly type: 'elected'; readonly round: number; readonly leader: string; readonly weight: number }
  /** I do not lead this round any more. */
  | { readonly type: 'resigned'; readonly round: number }
  /**
   * I do not lead this round any more. Lead the next one. `group`: the other members to inform, if
   * not all of them.
   */
  | { readonly type: 'handover'; readonly round: number; readonly group: readonly string[] }
  /** I received your question and am alive. `standing`: whether I campaign. */
  | { readonly type: 'alive'; readonly round: number; readonly standing: boolean; readonly weight: number };

export type OwnMessage =
  /** Bully: are you alive? */
  | { readonly type: 'election'; readonly round: number }
  /** Bully: you are the best member that answered. Lead. */
  | { readonly type: 'grant'; readonly round: number }
  /** Next in line: the leader has failed, and named you as its successor. */
  | { readonly type: 'takeOver'; readonly round: number }
  /** Candidate/ordinary: candidate, are you alive? */
  | { readonly type: 'poll'; readonly round: number }
  /**
   * Ring, first lap: who is alive? `live`: the members that would lead, or only the best of them.
   */
  | {
      readonly type: 'collect';
      readonly round: number;
      readonly initiator: string;
      readonly attempt: number;
      readonly hops: number;
      readonly live: readonly string[];
    }
  /** Ring, second lap: `leader` leads this round. */
  | {
      readonly type: 'announce';
      readonly round: number;
      readonly initiator: string;
      readonly attempt: number;
      readonly hops: number;
      readonly leader: string;
    }
  /** Ring: I received the token and will forward it. */
  | { readonly type: 'passed'; readonly round: number; readonly initiator: string; readonly attempt: number; readonly phase: RingPhase }
  /** Invitation: join my group. `size`: how many members it has. */
  | { readonly type: 'invite'; readonly round: number; readonly size: number }
  /**
   * Invitation: my group and I join your group. `onward`: the sender forwards members that joined
   * its group after it had joined yours.
   */
  | { readonly type: 'accept'; readonly round: number; readonly group: readonly string[]; readonly onward: boolean }
  /** Invitation: I am not in your group but in that of `leader`. */
  | { readonly type: 'redirect'; readonly round: number; readonly leader: string }
  /** Invitation, from a former leader to its group: our group joins that of `leader`. */
  | { readonly type: 'moved'; readonly round: number; readonly leader: string };

type RingPhase = 'collect' | 'announce';
/** A message of one of the best-effort algorithms. Transports treat it as plain data. */
export type BestEffortMessage = CommonMessage | OwnMessage;
export type MessageOf<T extends BestEffortMessage['type']> = Extract<BestEffortMessage, { type: T }>;

/** A message reports at most this many failures, so that it fits into a frame. */
export const MAX_FAILURES = 16;

/**
 * The highest round. The round after it is the same round again, so every message stays readable.
 * Only a forged or corrupt message can bring a group this far; rounds are hints, so a repeated one
 * does no harm.
 */
const MAX_ROUND = 2 ** 52;

export function nextRound(round: number): number {
  return Math.min(round + 1, MAX_ROUND);
}

/**
 * Whether a message of this round is newer than a leadership of the round `led`. In the highest
 * round this is unknown, and the answer is true.
 */
export function isAfter(round: number, led: number): boolean {
  return round > led || round === MAX_ROUND;
}

type Ids = ReadonlyMap<string, unknown>;

/**
 * Reads a message and drops unknown fields. Undefined: the data are not a message, or the message
 * names a member that is not listed.
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
