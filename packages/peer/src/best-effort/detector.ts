/**
 * Who leads, as far as a member has heard: whoever has not been heard for a while is held for dead.
 */

import { learn, withFailure } from './failures.ts';
import { end, lead, takesOver, tellLeading } from './leader.ts';
import { isAfter, type Say } from './message.ts';
import { goesBefore } from './rank.ts';
import type { Heard } from './state.ts';
import type { StepContext } from './step-context.ts';

/**
 * Its own timer is late by more than a heartbeat's time: it was not the others that were silent. It
 * listens anew.
 */
export function notWhileAsleep(step: StepContext): void {
  const { wakeAtMs, leaders } = step.state;
  const { rules, nowMs } = step;
  if (wakeAtMs === undefined || nowMs <= wakeAtMs + rules.heartbeatEveryMs) return;
  const electAtMs = step.state.leading === undefined && leaders.length === 0 ? nowMs + rules.failureTimeoutMs : undefined;
  step.set({ leaders: leaders.map((leader) => ({ ...leader, atMs: nowMs })), election: undefined, electAtMs });
}

/**
 * Those that have been silent for too long. Where it was the last one, this member notices that
 * nobody leads.
 */
export function forgetSilent(step: StepContext): void {
  const { rules, nowMs } = step;
  step.set({ over: step.state.over.filter(({ atMs }) => nowMs - atMs < rules.failureTimeoutMs) });
  const silent = step.state.leaders.filter(({ atMs }) => nowMs - atMs >= rules.failureTimeoutMs);
  for (const heard of silent) {
    const { forgiveMs } = step.how;
    if (forgiveMs !== undefined) step.set({ failures: withFailure(forgiveMs, step.state.failures, heard.id, heard.round, nowMs) });
    lose(step, heard);
  }
}

/** This one leads no longer. */
function lose(step: StepContext, heard: Heard): void {
  step.set({ leaders: step.state.leaders.filter((one) => one !== heard), lost: heard });
  if (step.state.leaders.length === 0 && step.state.leading === undefined && step.state.election === undefined)
    step.set({ electAtMs: step.nowMs + step.how.delayMs(step) });
}

/** A leader says so itself. Of two leaders that meet, one stays: the other ends, and follows it. */
export function onHeartbeat(step: StepContext, from: string, { round, weight, successors, failures }: Say<'heartbeat'>): void {
  learn(step, failures);
  hear(step, from, { id: from, round, weight, byItself: true, successors });
  if (step.state.leading === undefined)
    step.send(from, { type: 'heartbeatAnswer', round, standing: step.mayLead, failures: step.failuresToTell });
}

/** Somebody is said to lead: by itself, or by who has held the election. */
export function onElected(step: StepContext, from: string, { round, leader, weight }: Say<'elected'>): void {
  if (leader === step.id) return step.state.leading === undefined ? becomeLeader(step, round) : undefined;
  // What an election has come out with is newer than what was heard before; a former leader that
  // lives will say so.
  if (step.state.leaders.every((heard) => heard.round < round)) step.set({ leaders: [] });
  return hear(step, from, { id: leader, round, weight, byItself: leader === from, successors: [] });
}

/**
 * Who leads, or has heard a leader itself lately, says so to whoever asks in an election: it is the
 * one that asks who does not hear. Not so if that one goes before the leader, and takes over for
 * that. False where there is nothing to say. What is only hearsay does not count: a dead leader
 * would live on in it.
 */
export function vouch(step: StepContext, to: string): boolean {
  const { leader, nowMs, rules, how } = step;
  if (step.state.leading !== undefined) {
    tellLeading(step, to, step.own.weight);
    return true;
  }
  if (leader === undefined || !leader.byItself || leader.id === to || nowMs - leader.atMs >= rules.failureTimeoutMs / 2) return false;
  if (how.preempts && goesBefore(rules, step.standingOf(to), leader)) return false;
  step.send(to, { type: 'elected', round: leader.round, leader: leader.id, weight: leader.weight });
  return true;
}

/**
 * It is elected by what others have found out. One that does not want to, or may not, says so; a
 * word of before means nothing any more.
 */
export function becomeLeader(step: StepContext, round: number): void {
  if (!isAfter(round, step.state.ledRound)) return;
  if (step.mayLead) lead(step, round);
  else step.tell(step.others, { type: 'resigned', round });
}

function hear(step: StepContext, from: string, claim: Omit<Heard, 'atMs'>): void {
  if (step.state.over.some(({ id, round }) => id === claim.id && round >= claim.round)) return;
  // What this member knows of the other's failures counts, even if that one has forgotten them.
  const heard = { ...claim, weight: Math.min(claim.weight, step.standingOf(claim.id).weight), atMs: step.nowMs };
  if (step.state.leading !== undefined) {
    // Nobody gives up on hearsay.
    if (!claim.byItself || !goesBefore(step.rules, heard, step.own)) return tellLeading(step, from, step.own.weight);
    end(step, 'superseded');
  }
  follow(step, heard);
}

/**
 * This one leads. An election that is under way is over; unless this member goes before the leader.
 */
export function follow(step: StepContext, heard: Heard): void {
  step.set({ leaders: [...step.state.leaders.filter(({ id }) => id !== heard.id), heard], electAtMs: undefined });
  if (!takesOver(step)) step.set({ election: undefined });
  else if (step.state.election === undefined) step.how.begin(step);
}

/** Whoever has said that it led says that it does no longer. */
export function onResigned(step: StepContext, from: string, round: number): void {
  step.set({ over: [...step.state.over.filter(({ id }) => id !== from), { id: from, round, atMs: step.nowMs }] });
  const heard = step.state.leaders.find(({ id }) => id === from);
  if (heard === undefined || heard.round > round) return;
  lose(step, heard);
  // Not all at once.
  const { electAtMs } = step.state;
  if (electAtMs !== undefined) step.set({ electAtMs: electAtMs + step.random() * step.rules.heartbeatEveryMs });
}

/**
 * The election has come to nothing. Who stands tries again; who does not has nothing to wait for.
 */
export function abandonElection(step: StepContext): void {
  const { standing } = step.state;
  const electAtMs = standing ? step.nowMs + step.rules.failureTimeoutMs + step.how.delayMs(step) : undefined;
  step.set({ election: undefined, electAtMs });
}
