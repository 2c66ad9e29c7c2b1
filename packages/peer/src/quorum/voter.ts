/** Who gets a member's vote, and when. */

import type { Position } from '../algorithm.ts';
import { campaign } from './candidate.ts';
import { stepDown } from './leader.ts';
import type { QuorumMessage } from './message.ts';
import { comparePositions, mayVote } from './promise.ts';
import type { StepContext } from './step-context.ts';

type In<T extends QuorumMessage['type']> = Extract<QuorumMessage, { type: T }>;

/**
 * Pre-votes are given to as many as ask: only who could get a majority of votes goes on to raise
 * the term.
 */
export function onPreVote(step: StepContext, from: string, { poll, position }: In<'preVote'>): void {
  const mayNow = mayVote(step);
  const isBetter = mayNow && ranksHigher(step, from, position);
  const granted = mayNow && !isBetter && comparePositions(position, step.position) >= 0;
  step.send(from, { type: 'preVoteAnswer', term: step.state.term, poll, granted });
  if (isBetter && step.state.role.kind === 'following') campaign(step);
}

/** Whether this member is the one to prefer, where both reach equally far. */
function ranksHigher({ rules, state, position: own }: StepContext, from: string, position: Position): boolean {
  if (rules.tieBreak !== 'highest-rank' || !state.standing || comparePositions(position, own) !== 0) return false;
  return rules.members.indexOf(state.memberId) < rules.members.indexOf(from);
}

/**
 * One vote a term. A request by handover passes the promise to a leader: whoever asks for term + 1
 * on the word of the leader of `term` proves that this one has stopped believing, and so had every
 * leader before it when it was elected. However late it comes, it is a vote in that one term: if
 * another has been elected in it, or in a later one, a majority has voted there, and refuses.
 */
export function onVote(step: StepContext, from: string, { term, position, byHandover }: In<'vote'>): void {
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
