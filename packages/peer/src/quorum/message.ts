/**
 * The messages of the algorithm, and the recorded vote. Each message carries its sender's term,
 * which shows whether it is stale.
 */

import { IncumbentError } from '@incumbent/core';
import type { Position } from '../algorithm.ts';
import { isCount, isRecord } from '../reading.ts';
import { PROMISE_RANGE_MS } from './options.ts';

/** A message of the algorithm. Transports treat it as plain data. */
export type QuorumMessage =
  /** Would you vote for me in the next term? Changes nothing. (Ongaro, dissertation, 9.6.) */
  | { readonly type: 'preVote'; readonly term: bigint; readonly poll: number; readonly position: Position }
  | { readonly type: 'preVoteAnswer'; readonly term: bigint; readonly poll: number; readonly granted: boolean }
  /**
   * Vote for me in this term. `byHandover`: the leader of the term before has asked me to stand.
   */
  | { readonly type: 'vote'; readonly term: bigint; readonly position: Position; readonly byHandover: boolean }
  | { readonly type: 'voteAnswer'; readonly term: bigint; readonly granted: boolean }
  /** I lead this term. */
  | { readonly type: 'heartbeat'; readonly term: bigint; readonly round: number }
  | {
      readonly type: 'heartbeatAnswer';
      readonly term: bigint;
      readonly round: number;
      readonly position: Position;
      /** Whether the follower campaigns. */
      readonly standing: boolean;
    }
  /**
   * Your message is of an older term than mine. Also sent after `resigned` by a former leader that
   * knows a newer term than the one that it led.
   */
  | { readonly type: 'stale'; readonly term: bigint }
  /** My leadership of this term is over for good. Campaign in the next term. */
  | { readonly type: 'handover'; readonly term: bigint }
  /** My leadership of this term is over for good. */
  | { readonly type: 'resigned'; readonly term: bigint };

export type MessageOf<T extends QuorumMessage['type']> = Extract<QuorumMessage, { type: T }>;

/**
 * What must survive the process. If a member forgot it, two leaders could be elected in one term.
 */
export interface Vote {
  readonly memberId: string;
  /** The newest term that this member knows. 0n: none. */
  readonly term: bigint;
  /** The member for which it voted in that term. */
  readonly votedFor: string | undefined;
  /** The members of the group at that time. Undefined: an older version wrote the vote. */
  readonly members?: readonly string[];
  /**
   * The longest time for which this member may still have promised a leader to vote for nobody, in
   * ms. After a start with shorter timeouts, the member waits for this long. Undefined: an older
   * version wrote the vote.
   */
  readonly promiseMs?: number;
}

/** 63 bits, so that a signed 64-bit column can store every term. */
export const MAX_TERM: bigint = 2n ** 63n - 1n;
/** The highest term that `reportTerm` accepts. */
const HIGHEST_REPORTED: bigint = 2n ** 61n;
/** With one election per second, a member that was away for 136 years has missed this many. */
const MOST_MISSED: bigint = 2n ** 32n;

/**
 * Whether elections can have reached `term`, for a member that knows the term `known`. A false
 * message, such as one with the highest possible term, must not use up all terms.
 */
export function isPlausible(term: bigint, known: bigint): boolean {
  return term <= (known > HIGHEST_REPORTED ? known : HIGHEST_REPORTED) + MOST_MISSED;
}

function isTerm(value: unknown, least: bigint): value is bigint {
  return typeof value === 'bigint' && value >= least && value <= MAX_TERM;
}

function isIds(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}

function isPromise(value: unknown): value is number {
  return typeof value === 'number' && value >= PROMISE_RANGE_MS.min && value <= PROMISE_RANGE_MS.max;
}

function isPosition(value: unknown): value is Position {
  return isRecord(value) && isTerm(value['lastTerm'], 0n) && isTerm(value['lastIndex'], 0n);
}

/** Reads a message, without any further fields. Undefined: the data are no message. */
export function readMessage(data: unknown): QuorumMessage | undefined {
  if (!isRecord(data)) return undefined;
  const { type, term, poll, round, position, granted, byHandover, standing } = data;
  // A member that asks for a pre-vote may not know any term yet.
  if (!isTerm(term, type === 'preVote' || type === 'preVoteAnswer' || type === 'voteAnswer' ? 0n : 1n)) return undefined;
  switch (type) {
    case 'preVote':
      return isCount(poll) && isPosition(position) ? { type, term, poll, position } : undefined;
    case 'preVoteAnswer':
      return isCount(poll) && typeof granted === 'boolean' ? { type, term, poll, granted } : undefined;
    case 'vote':
      return isPosition(position) && typeof byHandover === 'boolean' ? { type, term, position, byHandover } : undefined;
    case 'voteAnswer':
      return typeof granted === 'boolean' ? { type, term, granted } : undefined;
    case 'heartbeat':
      return isCount(round) ? { type, term, round } : undefined;
    case 'heartbeatAnswer': {
      const fits = isCount(round) && isPosition(position) && typeof standing === 'boolean';
      return fits ? { type, term, round, position, standing } : undefined;
    }
    case 'stale':
    case 'handover':
    case 'resigned':
      return { type, term };
    default:
      return undefined;
  }
}

/**
 * Reads a recorded vote, without the fields of later versions.
 *
 * @throws `CORRUPT` if the data are no vote.
 */
export function readVote(data: unknown): Vote {
  if (isRecord(data)) {
    const { memberId, term, votedFor, members, promiseMs } = data;
    const isFor = votedFor === undefined || typeof votedFor === 'string';
    const fits = (members === undefined || isIds(members)) && (promiseMs === undefined || isPromise(promiseMs));
    if (typeof memberId === 'string' && isTerm(term, 0n) && isFor && fits)
      return { memberId, term, votedFor, ...(members === undefined ? {} : { members }), ...(promiseMs === undefined ? {} : { promiseMs }) };
  }
  throw new IncumbentError('CORRUPT', 'the data that were saved as the vote of this member are no vote');
}
