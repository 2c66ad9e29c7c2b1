/**
 * The leader's part. A leadership is valid for a fixed time from the sending of the leader's newest
 * heartbeat. A follower that receives this heartbeat starts no election during that time, but the
 * leader does not wait for answers. So a leader whose process was paused has lost its leadership
 * when the process resumes. A leader that a partition cuts off from all others stays leader, while
 * the others elect another.
 */

import { isGivenUp, type PeerEndReason, type Validity } from '../algorithm.ts';
import { learn, levelOf } from './failures.ts';
import { nextRound, type MessageOf } from './message.ts';
import type { Rules } from './options.ts';
import { goesBefore, inOrder } from './rank.ts';
import type { BestEffortState, Follower } from './state.ts';
import type { Procedure, StepContext } from './step-context.ts';

/**
 * Becomes leader. `round` is the result of an election. Default: the next round. The caller informs
 * the other members.
 */
export function lead(step: StepContext, round: number = nextRound(step.state.round)): void {
  const { now, nowMs, rules } = step;
  const leading = { round, announcedAt: now, heartbeatAtMs: nowMs + rules.heartbeatEveryMs, followers: [] };
  step.set({ leading, ledRound: round, round: Math.max(step.state.round, round), leaders: [], election: undefined, electAtMs: undefined });
  step.elected();
}

/** Becomes leader and informs all other members. */
export function leadAndAnnounce(step: StepContext): void {
  lead(step);
  const { round } = step.state;
  step.broadcast({ type: 'elected', round, leader: step.id, weight: step.own.weight });
}

/**
 * Sends a heartbeat to these members and extends the leadership's validity from now on. Removes the
 * followers that have not answered for the failure timeout.
 */
export function beat(step: StepContext, recipients: readonly string[], weight: number): void {
  const { leading } = step.state;
  if (leading === undefined) return;
  const { rules, now, nowMs } = step;
  const followers = leading.followers.filter(({ atMs }) => nowMs - atMs < rules.failureTimeoutMs);
  step.set({ leading: { ...leading, followers, announcedAt: now, heartbeatAtMs: nowMs + rules.heartbeatEveryMs } });
  for (const id of recipients) sendHeartbeat(step, id, weight);
}

/** Sends a heartbeat to one member. This does not extend the leadership's validity. */
export function sendHeartbeat(step: StepContext, to: string, weight: number): void {
  const { leading } = step.state;
  if (leading === undefined) return;
  step.send(to, {
    type: 'heartbeat',
    round: leading.round,
    weight,
    successors: successorsOf(step.how, step.state).slice(0, step.how.successors),
    failures: step.failuresToReport,
  });
}

export function onHeartbeatAnswer(step: StepContext, from: string, { standing, failures }: MessageOf<'heartbeatAnswer'>): void {
  learn(step, failures);
  const { leading } = step.state;
  if (leading === undefined) return;
  const others = leading.followers.filter(({ id }) => id !== from);
  step.set({ leading: { ...leading, followers: [...others, { id: from, standing, atMs: step.nowMs }] } });
}

/**
 * Ends a leadership that is no longer valid: this process was paused and sent no heartbeat in time.
 */
export function endIfOver(step: StepContext): void {
  const { leading } = step.state;
  if (leading !== undefined && step.nowMs >= leading.announcedAt.monotonicMs + step.rules.validMs) end(step, 'deadline');
}

/**
 * Ends the leadership and the campaign. After a voluntary end, the member also lets other members
 * lead first.
 */
export function end(step: StepContext, reason: PeerEndReason): void {
  const { leading, standsBack } = step.state;
  if (leading === undefined) return;
  const electAtMs = step.nowMs + step.rules.failureTimeoutMs;
  const led = { round: leading.round, group: leading.followers.map(({ id }) => id) };
  step.set({ leading: undefined, led, standing: false, standsBack: standsBack || isGivenUp(reason), electAtMs });
  step.ended(reason);
}

export function validityOf({ validMs, leaseMs }: Rules, { leading }: BestEffortState): Validity<'bestEffort'> | undefined {
  if (leading === undefined) return undefined;
  return { term: undefined, round: leading.round, from: leading.announcedAt, forMs: validMs, safeForMs: leaseMs };
}

/**
 * The possible successors, the best first: eligible followers that campaign and have answered
 * lately.
 */
function successorsOf(how: Procedure, state: BestEffortState): readonly string[] {
  const { leading, failures } = state;
  if (leading === undefined) return [];
  const { monotonicMs: lastMs } = leading.announcedAt;
  const fit = answeredOf(how, state).filter(({ id, standing }) => standing && how.isEligible(id));
  const ranked = fit.map(({ id }) => ({ id, weight: -levelOf(how.forgiveMs, failures, id, lastMs) }));
  return inOrder(how.rules, ranked).map(({ id }) => id);
}

/** The followers that have answered lately. */
function answeredOf({ rules }: Procedure, { leading }: BestEffortState): readonly Follower[] {
  if (leading === undefined) return [];
  // An answer takes a round trip, and one answer may be lost.
  const sinceMs = leading.announcedAt.monotonicMs - 2 * rules.heartbeatEveryMs - rules.answerTimeoutMs;
  return leading.followers.filter(({ atMs }) => atMs >= sinceMs);
}

/**
 * The member to which the leadership may pass. If the algorithm lets a better member take over from
 * a leader, only the best successor qualifies: otherwise it would take over again at once.
 */
export function successorOf(how: Procedure, state: BestEffortState, to: string | undefined): string | undefined {
  const [best, ...rest] = successorsOf(how, state);
  if (to === undefined || to === best) return best;
  return how.preempts ? undefined : rest.find((id) => id === to);
}

/** Why `successorOf` returns undefined. */
export function whyNoSuccessor(how: Procedure, state: BestEffortState, to: string | undefined): string {
  if (to === undefined) return 'no other member that may lead campaigns and has answered the latest heartbeats';
  if (to === state.memberId) return 'it is the leader itself';
  if (!how.rules.members.includes(to)) return 'it is not one of the members';
  if (!how.isEligible(to)) return 'it is not one of the candidates';
  const named = answeredOf(how, state).find(({ id }) => id === to);
  if (named === undefined) return 'it has not answered the latest heartbeats';
  if (!named.standing) return 'it does not campaign';
  const [best] = successorsOf(how, state);
  return `the better member "${best}" would take over from it`;
}

/**
 * Whether this member has precedence over the leader that it hears, and the algorithm lets it take
 * over for that reason.
 */
export function takesOver(step: StepContext): boolean {
  const { leader } = step;
  return step.how.preempts && step.mayLead && leader !== undefined && goesBefore(step.rules, step.own, leader);
}
