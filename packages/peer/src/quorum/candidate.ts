/**
 * How a member stands for election: first it asks whether it would win, then it raises the term.
 */

import { lead } from './leader.ts';
import { MAX_TERM } from './message.ts';
import { mayVote } from './promise.ts';
import type { StepContext } from './step-context.ts';

/** Asks everybody whether they would vote for it. */
export function campaign(step: StepContext): void {
  step.restartElectionTimer();
  const poll = step.state.polls + 1;
  step.set({ polls: poll, role: { kind: 'polling', poll, granted: [] } });
  step.tellAll({ type: 'preVote', term: step.state.term, poll, position: step.position });
  onPollGranted(step, step.state.memberId, poll);
}

/**
 * Somebody would vote for it. Once a majority would, it asks for their votes; unless it has
 * meanwhile promised not to vote itself.
 */
export function onPollGranted(step: StepContext, from: string, poll: number): void {
  const { role } = step.state;
  if (role.kind !== 'polling' || role.poll !== poll || role.granted.includes(from)) return;
  const granted = [...role.granted, from];
  step.set({ role: { ...role, granted } });
  if (granted.length >= step.rules.majority && mayVote(step)) requestVotes(step, false);
}

/** Raises the term and votes for itself. */
export function requestVotes(step: StepContext, byHandover: boolean): void {
  const { memberId, term: before } = step.state;
  // There is no next one. Only a vote file that has this term leads here.
  if (before >= MAX_TERM) return;
  const term = before + 1n;
  step.restartElectionTimer();
  step.set({ term, votedFor: memberId, role: { kind: 'voting', granted: [] } });
  step.tellAll({ type: 'vote', term, position: step.position, byHandover });
  onVoteGranted(step, memberId);
}

/** It has a vote in its term; with those of a majority it leads. */
export function onVoteGranted(step: StepContext, from: string): void {
  const { role } = step.state;
  if (role.kind !== 'voting' || role.granted.includes(from)) return;
  const granted = [...role.granted, from];
  step.set({ role: { ...role, granted } });
  if (granted.length >= step.rules.majority) lead(step);
}
