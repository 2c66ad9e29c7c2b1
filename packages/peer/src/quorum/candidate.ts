/** The candidate's part: it first asks whether it would win, and then raises the term. */

import { lead } from './leader.ts';
import { MAX_TERM, type MessageOf } from './message.ts';
import { mayVote } from './promise.ts';
import type { RankClaim } from './state.ts';
import type { StepContext } from './step-context.ts';

type PollAnswer = Pick<MessageOf<'preVoteAnswer'>, 'poll' | 'granted'>;

/**
 * Asks all members whether they would vote for this one. If this member is polling already, that
 * poll has failed.
 */
export function campaign(step: StepContext): void {
  const { role } = step.state;
  startPoll(step, role.kind === 'polling' && role.rank !== 'none' ? 'failed' : 'none');
}

/**
 * Polls because this member has refused a member of a lower rank. Has no effect if this member has
 * already polled for that reason, or asks for votes: otherwise the other member's requests would
 * keep restarting the poll.
 */
export function claimRank(step: StepContext): void {
  const { role } = step.state;
  if (role.kind === 'following' || (role.kind === 'polling' && role.rank === 'none')) startPoll(step, 'made');
}

function startPoll(step: StepContext, rank: RankClaim): void {
  step.restartElectionTimer();
  const poll = step.state.polls + 1;
  step.set({ polls: poll, role: { kind: 'polling', poll, answered: [], granted: [], rank } });
  step.broadcast({ type: 'preVote', term: step.state.term, poll, position: step.position });
  onPollAnswer(step, step.state.memberId, { poll, granted: true });
}

/**
 * Counts the answer of a member, and whether it would vote for this one. If a majority would, asks
 * for votes, unless this member has meanwhile heard a leader and must not vote.
 */
export function onPollAnswer(step: StepContext, from: string, answer: PollAnswer): void {
  const { role } = step.state;
  if (role.kind !== 'polling' || role.poll !== answer.poll || role.answered.includes(from)) return;
  const answered = [...role.answered, from];
  const granted = answer.granted ? [...role.granted, from] : role.granted;
  step.set({ role: { ...role, answered, granted } });
  if (granted.length >= step.rules.majority && mayVote(step)) requestVotes(step, false);
}

/** Raises the term, votes for this member, and asks all others for their votes. */
export function requestVotes(step: StepContext, byHandover: boolean): void {
  const { memberId, term: before } = step.state;
  // There is no next term. The term can be this high only if the vote file contained it.
  if (before >= MAX_TERM) return;
  const term = before + 1n;
  step.restartElectionTimer();
  step.set({ term, votedFor: memberId, role: { kind: 'voting', granted: [] } });
  step.broadcast({ type: 'vote', term, position: step.position, byHandover });
  onVoteGranted(step, memberId);
}

/** Counts a vote. With a majority of votes, this member leads. */
export function onVoteGranted(step: StepContext, from: string): void {
  const { role } = step.state;
  if (role.kind !== 'voting' || role.granted.includes(from)) return;
  const granted = [...role.granted, from];
  step.set({ role: { ...role, granted } });
  if (granted.length >= step.rules.majority) lead(step);
}
