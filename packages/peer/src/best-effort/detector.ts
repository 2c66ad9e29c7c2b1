/** Who leads, as far as a member has heard: whoever has not been heard for a while is held for dead. */

import { learn, withFailure } from './failures.ts';
import { end, lead, takesOver, tellLeading } from './leader.ts';
import { isAfter, type Say } from './message.ts';
import { goesBefore } from './rank.ts';
import type { Heard } from './state.ts';
import type { Turn } from './turn.ts';

/** Its own timer is late by more than a heartbeat's time: it was not the others that were silent. It listens anew. */
export function notWhileAsleep(turn: Turn): void {
  const { wakeAtMs, leaders } = turn.state;
  const { rules, nowMs } = turn;
  if (wakeAtMs === undefined || nowMs <= wakeAtMs + rules.heartbeatEveryMs) return;
  const electAtMs = turn.state.leading === undefined && leaders.length === 0 ? nowMs + rules.failureTimeoutMs : undefined;
  turn.set({ leaders: leaders.map((leader) => ({ ...leader, atMs: nowMs })), election: undefined, electAtMs });
}

/** Those that have been silent for too long. Where it was the last one, this member notices that nobody leads. */
export function forgetSilent(turn: Turn): void {
  const { rules, nowMs } = turn;
  turn.set({ over: turn.state.over.filter(({ atMs }) => nowMs - atMs < rules.failureTimeoutMs) });
  const silent = turn.state.leaders.filter(({ atMs }) => nowMs - atMs >= rules.failureTimeoutMs);
  for (const heard of silent) {
    const { forgiveMs } = turn.how;
    if (forgiveMs !== undefined) turn.set({ failures: withFailure(forgiveMs, turn.state.failures, heard.id, heard.round, nowMs) });
    lose(turn, heard);
  }
}

/** This one leads no longer. */
function lose(turn: Turn, heard: Heard): void {
  turn.set({ leaders: turn.state.leaders.filter((one) => one !== heard), lost: heard });
  if (turn.state.leaders.length === 0 && turn.state.leading === undefined && turn.state.election === undefined)
    turn.set({ electAtMs: turn.nowMs + turn.how.delayMs(turn) });
}

/** A leader says so itself. Of two leaders that meet, one stays: the other ends, and follows it. */
export function onHeartbeat(turn: Turn, from: string, { round, weight, successors, failures }: Say<'heartbeat'>): void {
  learn(turn, failures);
  hear(turn, from, { id: from, round, weight, byItself: true, successors });
  if (turn.state.leading === undefined)
    turn.send(from, { type: 'heartbeatAnswer', round, standing: turn.mayLead, failures: turn.failuresToTell });
}

/** Somebody is said to lead: by itself, or by who has held the election. */
export function onElected(turn: Turn, from: string, { round, leader, weight }: Say<'elected'>): void {
  if (leader === turn.id) return turn.state.leading === undefined ? takeOffice(turn, round) : undefined;
  // What an election has come out with is newer than what was heard before; a former leader that lives will say so.
  if (turn.state.leaders.every((heard) => heard.round < round)) turn.set({ leaders: [] });
  return hear(turn, from, { id: leader, round, weight, byItself: leader === from, successors: [] });
}

/**
 * Who leads, or has heard a leader itself lately, says so to whoever asks in an election: it is the one that asks who does not hear. Not so if that one goes before
 * the leader, and takes over for that. False where there is nothing to say. What is only hearsay does not count: a dead leader would live on in it.
 */
export function vouch(turn: Turn, to: string): boolean {
  const { leader, nowMs, rules, how } = turn;
  if (turn.state.leading !== undefined) {
    tellLeading(turn, to, turn.own.weight);
    return true;
  }
  if (leader === undefined || !leader.byItself || leader.id === to || nowMs - leader.atMs >= rules.failureTimeoutMs / 2) return false;
  if (how.preempts && goesBefore(rules, turn.standingOf(to), leader)) return false;
  turn.send(to, { type: 'elected', round: leader.round, leader: leader.id, weight: leader.weight });
  return true;
}

/** It is elected by what others have found out. One that does not want to, or may not, says so; a word of before means nothing any more. */
export function takeOffice(turn: Turn, round: number): void {
  if (!isAfter(round, turn.state.ledRound)) return;
  if (turn.mayLead) lead(turn, round);
  else turn.tell(turn.others, { type: 'resigned', round });
}

function hear(turn: Turn, from: string, claim: Omit<Heard, 'atMs'>): void {
  if (turn.state.over.some(({ id, round }) => id === claim.id && round >= claim.round)) return;
  // What this member knows of the other's failures counts, even if that one has forgotten them.
  const heard = { ...claim, weight: Math.min(claim.weight, turn.standingOf(claim.id).weight), atMs: turn.nowMs };
  if (turn.state.leading !== undefined) {
    // Nobody gives up on hearsay.
    if (!claim.byItself || !goesBefore(turn.rules, heard, turn.own)) return tellLeading(turn, from, turn.own.weight);
    end(turn, 'superseded');
  }
  follow(turn, heard);
}

/** This one leads. An election that is under way is over; unless this member goes before the leader. */
export function follow(turn: Turn, heard: Heard): void {
  turn.set({ leaders: [...turn.state.leaders.filter(({ id }) => id !== heard.id), heard], electAtMs: undefined });
  if (!takesOver(turn)) turn.set({ election: undefined });
  else if (turn.state.election === undefined) turn.how.begin(turn);
}

/** Whoever has said that it led says that it does no longer. */
export function onResigned(turn: Turn, from: string, round: number): void {
  turn.set({ over: [...turn.state.over.filter(({ id }) => id !== from), { id: from, round, atMs: turn.nowMs }] });
  const heard = turn.state.leaders.find(({ id }) => id === from);
  if (heard === undefined || heard.round > round) return;
  lose(turn, heard);
  // Not all at once.
  const { electAtMs } = turn.state;
  if (electAtMs !== undefined) turn.set({ electAtMs: electAtMs + turn.chance() * turn.rules.heartbeatEveryMs });
}

/** The election has come to nothing. Who stands tries again; who does not has nothing to wait for. */
export function giveUpElection(turn: Turn): void {
  const { standing } = turn.state;
  const electAtMs = standing ? turn.nowMs + turn.rules.failureTimeoutMs + turn.how.delayMs(turn) : undefined;
  turn.set({ election: undefined, electAtMs });
}
