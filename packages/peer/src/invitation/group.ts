/** A group: its leader, and those that have joined it. Only they hear its heartbeats. */

import { abandonElection, becomeLeader } from '../best-effort/detector.ts';
import { beat, lead } from '../best-effort/leader.ts';
import { nextRound, type Say } from '../best-effort/message.ts';
import type { BestEffortState, Follower } from '../best-effort/state.ts';
import type { Led, StepContext } from '../best-effort/step-context.ts';

/** Those that follow this member; nobody, if it does not lead. */
export function followersOf({ state: { leading } }: StepContext): readonly string[] {
  return leading?.followers.map(({ id }) => id) ?? [];
}

/** How many its group has. */
export function sizeOf(step: StepContext): number {
  return followersOf(step).length + 1;
}

/** A group of its own. */
export function begin(step: StepContext): void {
  if (step.mayLead) becomeLeader(step, nextRound(step.state.round));
  else abandonElection(step);
}

export function joined(step: StepContext, ids: readonly string[]): void {
  const { leading } = step.state;
  if (leading === undefined) return;
  const known = new Set(leading.followers.map(({ id }) => id));
  const fresh: readonly Follower[] = ids
    .filter((id) => id !== step.id && !known.has(id))
    .map((id) => ({ id, standing: false, atMs: step.nowMs }));
  step.set({ leading: { ...leading, followers: [...leading.followers, ...fresh] } });
}

export function left(step: StepContext, id: string): void {
  const { leading } = step.state;
  if (leading !== undefined) step.set({ leading: { ...leading, followers: leading.followers.filter((one) => one.id !== id) } });
}

/** It is in this one's group from now on, and in no other. */
export function belong(step: StepContext, leader: string, round: number, size: number): void {
  step.set({ leaders: [{ id: leader, round, weight: size, atMs: step.nowMs, byItself: true, successors: [] }], electAtMs: undefined });
}

/**
 * Of its own leader it is heard; another one takes this member for one of its group, and is told
 * where it is.
 */
export function onHeartbeat(step: StepContext, from: string, { round, weight }: Say<'heartbeat'>): void {
  const { leader } = step;
  if (step.state.leading !== undefined) return step.send(from, { type: 'redirect', round, leader: step.id });
  if (leader !== undefined && leader.id !== from) return step.send(from, { type: 'redirect', round, leader: leader.id });
  belong(step, from, round, weight);
  return step.send(from, { type: 'heartbeatAnswer', round, standing: step.mayLead, failures: [] });
}

/** The group is this member's now. */
export function onHandover(step: StepContext, from: string, { group }: Say<'handover'>): void {
  lead(step);
  joined(step, [from, ...group]);
}

/**
 * A group whose leader resigns is none any more; one that is handed over is told by whom it is led.
 */
export function release(step: StepContext, { round, group }: Led, to: string | undefined): void {
  if (to === undefined) return step.tell(group, { type: 'resigned', round });
  const rest = group.filter((id) => id !== to);
  step.send(to, { type: 'handover', round, group: rest });
  return step.tell(rest, { type: 'moved', round, leader: to });
}

/** Heartbeats to the group, and, now and then, invitations to all others. */
export function attend(step: StepContext, inviteEveryMs: number): void {
  const { leading, inviteAtMs } = step.state;
  if (leading === undefined) return step.set({ inviteAtMs: undefined });
  if (step.nowMs >= leading.heartbeatAtMs) beat(step, followersOf(step), sizeOf(step));
  if (inviteAtMs !== undefined && step.nowMs < inviteAtMs) return undefined;
  const group = followersOf(step);
  // Not in the moment in which it begins: all may begin at once.
  if (inviteAtMs !== undefined)
    step.tell(
      step.others.filter((id) => !group.includes(id)),
      { type: 'invite', round: leading.round, size: sizeOf(step) },
    );
  return step.set({ inviteAtMs: step.nowMs + inviteEveryMs * (0.5 + step.random() / 2) });
}

export function attendAtMs({ inviteAtMs }: BestEffortState): number | undefined {
  return inviteAtMs;
}
