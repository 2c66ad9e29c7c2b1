/** The voter's part: which candidate gets this member's vote, and when. */

import type { Position } from '../algorithm.ts';
import { claimRank } from './candidate.ts';
import { stepDown } from './leader.ts';
import type { MessageOf } from './message.ts';
import { comparePositions, mayVote } from './promise.ts';
import type { StepContext } from './step-context.ts';

/**
 * Answers whether this member would vote for the sender. The member may say yes to several
 * candidates. A candidate raises the term only if it could get a majority.
 */
export function onPreVote(step: StepContext, from: string, { poll, position }: MessageOf<'preVote'>): void {
  const mayNow = mayVote(step);
  const refusesByRank = mayNow && !hasFailed(step) && ranksHigher(step, from, position);
  const granted = mayNow && !refusesByRank && comparePositions(position, step.position) >= 0;
  step.send(from, { type: 'preVoteAnswer', term: step.state.term, poll, granted });
  if (refusesByRank) claimRank(step);
}

/**
 * Whether this member has claimed its higher rank, has not won, and does not reach a majority now.
 * Another member may then be the only one that does.
 */
function hasFailed({ rules, state: { role } }: StepContext): boolean {
  return role.kind === 'polling' && role.rank === 'failed' && role.answered.length < rules.majority;
}

/** Whether this member has the higher rank, if both members' data reach equally far. */
function ranksHigher({ rules, state, position: own }: StepContext, from: string, position: Position): boolean {
  if (rules.tieBreak !== 'highest-rank' || !state.standing || comparePositions(position, own) !== 0) return false;
  return rules.members.indexOf(state.memberId) < rules.members.indexOf(from);
}

/**
 * Gives at most one vote per term. A request after a handover may be granted despite a promise to
 * a leader: it asks for the term after the leader's, so it proves that the leader has ended its
 * leadership, as had every earlier leader when that one was elected. However late the request
 * arrives, it is for one term only. If another member has been elected in that term, or in a later
 * one, a majority has voted there, and refuses.
 */
export function onVote(step: StepContext, from: string, { term, position, byHandover }: MessageOf<'vote'>): void {
  if (!byHandover && !mayVote(step)) return step.send(from, { type: 'voteAnswer', term: step.state.term, granted: false });
  if (term > step.state.term) stepDown(step, term);
  const { votedFor, role } = step.state;
  const isFree = votedFor === undefined || votedFor === from;
  const isLed = role.kind === 'leading' || (role.kind === 'following' && role.leader !== undefined);
  const granted = isFree && !isLed && comparePositions(position, step.position) >= 0;
  if (granted) {
    step.set({ votedFor: from, role: { kind: 'following', leader: undefined } });
    step.restartElectionTimer();
  }
  return step.send(from, { type: 'voteAnswer', term, granted });
}
