/**
 * The failure detector. It records which leaders a member hears, and treats a leader as failed
 * after the failure timeout without a heartbeat.
 */

import { learn, withFailure } from './failures.ts';
import { end, lead, takesOver, sendHeartbeat } from './leader.ts';
import { isAfter, type MessageOf } from './message.ts';
import { goesBefore } from './rank.ts';
import type { Heard } from './state.ts';
import type { StepContext } from './step-context.ts';

/**
 * A timer that fires more than one heartbeat interval late shows that this process was paused. The
 * leaders may have sent heartbeats meanwhile, so the member restarts their failure timeouts.
 */
export function restartTimeoutsAfterPause(step: StepContext): void {
  const { wakeAtMs, leaders } = step.state;
  const { rules, nowMs } = step;
  if (wakeAtMs === undefined || nowMs <= wakeAtMs + rules.heartbeatEveryMs) return;
  const electAtMs = step.state.leading === undefined && leaders.length === 0 ? nowMs + rules.failureTimeoutMs : undefined;
  step.set({ leaders: leaders.map((leader) => ({ ...leader, atMs: nowMs })), election: undefined, electAtMs });
}

/**
 * Removes the leaders that were silent for the failure timeout. If none is left, the member
 * schedules an election.
 */
export function forgetSilent(step: StepContext): void {
  const { rules, nowMs } = step;
  step.set({ resigned: step.state.resigned.filter(({ atMs }) => nowMs - atMs < rules.failureTimeoutMs) });
  const silent = step.state.leaders.filter(({ atMs }) => nowMs - atMs >= rules.failureTimeoutMs);
  for (const heard of silent) {
    const { forgiveMs } = step.how;
    if (forgiveMs !== undefined) step.set({ failures: withFailure(forgiveMs, step.state.failures, heard.id, heard.round, nowMs) });
    lose(step, heard);
  }
}

/** Removes a leader. If none is left, the member schedules an election. */
function lose(step: StepContext, heard: Heard): void {
  step.set({ leaders: step.state.leaders.filter((one) => one !== heard), lost: heard });
  if (step.state.leaders.length === 0 && step.state.leading === undefined && step.state.election === undefined)
    step.set({ electAtMs: step.nowMs + step.how.delayMs(step) });
}

/**
 * A leader announces itself. If this member leads too, the leader with the lower precedence steps
 * down and follows the other.
 */
export function onHeartbeat(step: StepContext, from: string, { round, weight, successors, failures }: MessageOf<'heartbeat'>): void {
  learn(step, failures);
  meetLeader(step, from, { id: from, round, weight, byItself: true, successors });
  if (step.state.leading === undefined)
    step.send(from, { type: 'heartbeatAnswer', round, standing: step.mayLead, failures: step.failuresToReport });
}

/** A member announces a leader: itself, or the winner of the election that it ran. */
export function onElected(step: StepContext, from: string, { round, leader, weight }: MessageOf<'elected'>): void {
  if (leader === step.id) return step.state.leading === undefined ? becomeLeader(step, round) : undefined;
  // The member keeps its other leaders, or the election that it has scheduled. It must not wait for
  // a winner that refuses the leadership.
  if (hasResigned(step, { id: leader, round })) return undefined;
  // The result of an election replaces older knowledge. A former leader that is still alive sends
  // its next heartbeat soon.
  if (step.state.leaders.every((heard) => heard.round < round)) step.set({ leaders: [] });
  return meetLeader(step, from, { id: leader, round, weight, byItself: leader === from, successors: [] });
}

/**
 * Answers a member that runs an election although a leader exists. Returns true if this member
 * leads, or has lately heard the leader itself. Then the member that asks has missed the leader's
 * heartbeats. Returns false if this member knows only from others that the leader exists: otherwise
 * members could keep announcing a failed leader to each other. Also returns false if the member
 * that asks has precedence and takes over from the leader.
 */
export function answerWithLeader(step: StepContext, to: string): boolean {
  const { leader, nowMs, rules, how } = step;
  if (step.state.leading !== undefined) {
    sendHeartbeat(step, to, step.own.weight);
    return true;
  }
  if (leader === undefined || !leader.byItself || leader.id === to || nowMs - leader.atMs >= rules.failureTimeoutMs / 2) return false;
  if (how.preempts && goesBefore(rules, step.precedenceOf(to), leader)) return false;
  step.send(to, { type: 'elected', round: leader.round, leader: leader.id, weight: leader.weight });
  return true;
}

/**
 * Another member's election has elected this member. The member ignores a result that is older than
 * its last leadership. It refuses the leadership if it does not campaign or is not eligible.
 */
export function becomeLeader(step: StepContext, round: number): void {
  if (!isAfter(round, step.state.ledRound)) return;
  if (step.mayLead) lead(step, round);
  else step.broadcast({ type: 'resigned', round });
}

/** Whether the claim is of a leadership that its leader has already given up. */
function hasResigned(step: StepContext, claim: Pick<Heard, 'id' | 'round'>): boolean {
  return step.state.resigned.some(({ id, round }) => id === claim.id && round >= claim.round);
}

function meetLeader(step: StepContext, from: string, claim: Omit<Heard, 'atMs'>): void {
  if (hasResigned(step, claim)) return;
  // Counts the failures that this member has recorded for the leader, even if the leader has
  // forgotten them.
  const heard = { ...claim, weight: Math.min(claim.weight, step.precedenceOf(claim.id).weight), atMs: step.nowMs };
  if (step.state.leading !== undefined) {
    // A leader steps down only if the other leader announces itself.
    if (!claim.byItself || !goesBefore(step.rules, heard, step.own)) return sendHeartbeat(step, from, step.own.weight);
    end(step, 'superseded');
  }
  follow(step, heard);
}

/**
 * Follows this leader. A running election ends, unless this member has precedence and takes over
 * from the leader.
 */
export function follow(step: StepContext, heard: Heard): void {
  step.set({ leaders: [...step.state.leaders.filter(({ id }) => id !== heard.id), heard], electAtMs: undefined });
  if (!takesOver(step)) step.set({ election: undefined });
  else if (step.state.election === undefined) step.how.begin(step);
}

/** A leader announces the end of its leadership. */
export function onResigned(step: StepContext, from: string, round: number): void {
  step.set({ resigned: [...step.state.resigned.filter(({ id }) => id !== from), { id: from, round, atMs: step.nowMs }] });
  const heard = step.state.leaders.find(({ id }) => id === from);
  if (heard === undefined || heard.round > round) return;
  lose(step, heard);
  // Add a random delay so that the members do not all start an election at once.
  const { electAtMs } = step.state;
  if (electAtMs !== undefined) step.set({ electAtMs: electAtMs + step.random() * step.rules.heartbeatEveryMs });
}

/**
 * Gives the election up. A member that campaigns tries again after the failure timeout. Any other
 * member stops.
 */
export function abandonElection(step: StepContext): void {
  const { standing } = step.state;
  const electAtMs = standing ? step.nowMs + step.rules.failureTimeoutMs + step.how.delayMs(step) : undefined;
  step.set({ election: undefined, electAtMs });
}
