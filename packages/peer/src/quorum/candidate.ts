/** How a member stands for election: first it asks whether it would win, then it raises the term. */

import { lead } from './leader.ts';
import { MAX_TERM } from './message.ts';
import { mayVote } from './promise.ts';
import type { Turn } from './turn.ts';

/** Asks everybody whether they would vote for it. */
export function campaign(turn: Turn): void {
  turn.restartElectionTimer();
  const poll = turn.state.polls + 1;
  turn.set({ polls: poll, role: { kind: 'polling', poll, granted: [] } });
  turn.tellAll({ type: 'preVote', term: turn.state.term, poll, position: turn.position });
  onPollGranted(turn, turn.state.memberId, poll);
}

/** Somebody would vote for it. Once a majority would, it asks for their votes; unless it has meanwhile promised not to vote itself. */
export function onPollGranted(turn: Turn, from: string, poll: number): void {
  const { role } = turn.state;
  if (role.kind !== 'polling' || role.poll !== poll || role.granted.includes(from)) return;
  const granted = [...role.granted, from];
  turn.set({ role: { ...role, granted } });
  if (granted.length >= turn.rules.majority && mayVote(turn)) requestVotes(turn, false);
}

/** Raises the term and votes for itself. */
export function requestVotes(turn: Turn, byHandover: boolean): void {
  const { memberId, term: before } = turn.state;
  // There is no next one. Only a vote file that has this term leads here.
  if (before >= MAX_TERM) return;
  const term = before + 1n;
  turn.restartElectionTimer();
  turn.set({ term, votedFor: memberId, role: { kind: 'voting', granted: [] } });
  turn.tellAll({ type: 'vote', term, position: turn.position, byHandover });
  onVoteGranted(turn, memberId);
}

/** It has a vote in its term; with those of a majority it leads. */
export function onVoteGranted(turn: Turn, from: string): void {
  const { role } = turn.state;
  if (role.kind !== 'voting' || role.granted.includes(from)) return;
  const granted = [...role.granted, from];
  turn.set({ role: { ...role, granted } });
  if (granted.length >= turn.rules.majority) lead(turn);
}
