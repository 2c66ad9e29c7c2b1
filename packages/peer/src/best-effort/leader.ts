/**
 * What a leader is by best effort: one that says so. It believes from the sending of its newest
 * heartbeat for as long as whoever has heard that one keeps still, whether or not anybody has. So a
 * leader that stands still has ended when it wakes up; and one that is cut off from all others goes
 * on, while they elect another.
 */

import type { Validity, PeerEndReason } from '../algorithm.ts';
import { learn, levelOf } from './failures.ts';
import { nextRound, type Say } from './message.ts';
import type { Rules } from './options.ts';
import { goesBefore, inOrder } from './rank.ts';
import type { BestEffortState } from './state.ts';
import type { Procedure, StepContext } from './step-context.ts';

/**
 * Leads from now on. `round`: the one that an election has come out with; by default the next one.
 * Others are to be told, or have been.
 */
export function lead(step: StepContext, round: number = nextRound(step.state.round)): void {
  const { now, nowMs, rules } = step;
  const leading = { round, announcedAt: now, heartbeatAtMs: nowMs + rules.heartbeatEveryMs, followers: [] };
  step.set({ leading, ledRound: round, round: Math.max(step.state.round, round), leaders: [], election: undefined, electAtMs: undefined });
  step.elected();
}

/** Leads, and tells all others. */
export function leadAndTell(step: StepContext): void {
  lead(step);
  const { round } = step.state;
  step.tell(step.others, { type: 'elected', round, leader: step.id, weight: step.own.weight });
}

/**
 * Says to these that it still leads, and counts its belief from now on. Followers that have been
 * silent for long are forgotten.
 */
export function beat(step: StepContext, recipients: readonly string[], weight: number): void {
  const { leading } = step.state;
  if (leading === undefined) return;
  const { rules, now, nowMs } = step;
  const followers = leading.followers.filter(({ atMs }) => nowMs - atMs < rules.failureTimeoutMs);
  step.set({ leading: { ...leading, followers, announcedAt: now, heartbeatAtMs: nowMs + rules.heartbeatEveryMs } });
  for (const id of recipients) tellLeading(step, id, weight);
}

/** Says to one member that it leads: belief does not count from there. */
export function tellLeading(step: StepContext, to: string, weight: number): void {
  const { leading } = step.state;
  if (leading === undefined) return;
  step.send(to, {
    type: 'heartbeat',
    round: leading.round,
    weight,
    successors: successorsOf(step.how, step.state).slice(0, step.how.successors),
    failures: step.failuresToTell,
  });
}

export function onHeartbeatAnswer(step: StepContext, from: string, { standing, failures }: Say<'heartbeatAnswer'>): void {
  learn(step, failures);
  const { leading } = step.state;
  if (leading === undefined) return;
  const others = leading.followers.filter(({ id }) => id !== from);
  step.set({ leading: { ...leading, followers: [...others, { id: from, standing, atMs: step.nowMs }] } });
}

/** Ends a leadership that has not said so itself for too long: it stood still. */
export function endIfOver(step: StepContext): void {
  const { leading } = step.state;
  if (leading !== undefined && step.nowMs >= leading.announcedAt.monotonicMs + step.rules.validMs) end(step, 'deadline');
}

/** It was what it stood for. Whoever gives up of its own will lets others go before it. */
export function end(step: StepContext, reason: PeerEndReason): void {
  const { leading, standsBack } = step.state;
  if (leading === undefined) return;
  const isGivenUp = reason === 'resigned' || reason === 'handover' || reason === 'memberClosed';
  const electAtMs = step.nowMs + step.rules.failureTimeoutMs;
  const led = { round: leading.round, group: leading.followers.map(({ id }) => id) };
  step.set({ leading: undefined, led, standing: false, standsBack: standsBack || isGivenUp, electAtMs });
  step.ended(reason);
}

export function validityOf({ validMs, leaseMs }: Rules, { leading }: BestEffortState): Validity<'bestEffort'> | undefined {
  if (leading === undefined) return undefined;
  return { term: undefined, round: leading.round, from: leading.announcedAt, forMs: validMs, safeForMs: leaseMs };
}

/** Who would lead next, the best first: those that would, and have answered lately. */
function successorsOf(how: Procedure, { leading, failures }: BestEffortState): readonly string[] {
  if (leading === undefined) return [];
  const { monotonicMs: lastMs } = leading.announcedAt;
  // An answer takes a round trip, and one of them may be lost.
  const sinceMs = lastMs - 2 * how.rules.heartbeatEveryMs - how.rules.answerTimeoutMs;
  const fit = leading.followers.filter(({ id, standing, atMs }) => standing && how.isEligible(id) && atMs >= sinceMs);
  const standings = fit.map(({ id }) => ({ id, weight: -levelOf(how.forgiveMs, failures, id, lastMs) }));
  return inOrder(how.rules, standings).map(({ id }) => id);
}

/** To whom leadership may go. Where a better one takes over anyway, only to the best of them. */
export function successorOf(how: Procedure, state: BestEffortState, to: string | undefined): string | undefined {
  const [best, ...rest] = successorsOf(how, state);
  if (to === undefined || to === best) return best;
  return how.preempts ? undefined : rest.find((id) => id === to);
}

/** Whether this member goes before the leader that it hears, and takes over for that. */
export function takesOver(step: StepContext): boolean {
  const { leader } = step;
  return step.how.preempts && step.mayLead && leader !== undefined && goesBefore(step.rules, step.own, leader);
}
