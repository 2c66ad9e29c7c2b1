/** A group: a leader and the members that have joined it. Only they receive its heartbeats. */

import { abandonElection, becomeLeader } from '../best-effort/detector.ts';
import { beat, lead } from '../best-effort/leader.ts';
import { nextRound, type MessageOf } from '../best-effort/message.ts';
import type { BestEffortState, Follower } from '../best-effort/state.ts';
import type { Led, StepContext } from '../best-effort/step-context.ts';

/** The members of this leader's group, itself excluded. Empty if this member does not lead. */
export function followersOf({ state: { leading } }: StepContext): readonly string[] {
  return leading?.followers.map(({ id }) => id) ?? [];
}

/** How many members the group has, the leader included. */
export function sizeOf(step: StepContext): number {
  return followersOf(step).length + 1;
}

/** Forms a new group that only this member belongs to. */
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

/** Makes this member a follower of this leader only. */
export function belong(step: StepContext, leader: string, round: number, size: number): void {
  step.set({ leaders: [{ id: leader, round, weight: size, atMs: step.nowMs, byItself: true, successors: [] }], electAtMs: undefined });
}

/**
 * Answers its own leader. If another leader counts this member as a follower, tells that leader
 * which group this member belongs to.
 */
export function onHeartbeat(step: StepContext, from: string, { round, weight }: MessageOf<'heartbeat'>): void {
  const { leader } = step;
  if (step.state.leading !== undefined) return step.send(from, { type: 'redirect', round, leader: step.id });
  if (leader !== undefined && leader.id !== from) return step.send(from, { type: 'redirect', round, leader: leader.id });
  belong(step, from, round, weight);
  return step.send(from, { type: 'heartbeatAnswer', round, standing: step.mayLead, failures: [] });
}

/** Takes over the group of the former leader. */
export function onHandover(step: StepContext, from: string, { group }: MessageOf<'handover'>): void {
  lead(step);
  joined(step, [from, ...group]);
}

/**
 * Dissolves the group of a leader that resigns. After a handover, tells the group who its new
 * leader is.
 */
export function release(step: StepContext, { round, group }: Led, to: string | undefined): void {
  if (to === undefined) return step.multicast(group, { type: 'resigned', round });
  const rest = group.filter((id) => id !== to);
  step.send(to, { type: 'handover', round, group: rest });
  return step.multicast(rest, { type: 'moved', round, leader: to });
}

/** Sends heartbeats to the group and, from time to time, invitations to all other members. */
export function attend(step: StepContext, inviteEveryMs: number): void {
  const { leading, inviteAtMs } = step.state;
  if (leading === undefined) return step.set({ inviteAtMs: undefined });
  if (step.nowMs >= leading.heartbeatAtMs) beat(step, followersOf(step), sizeOf(step));
  if (inviteAtMs !== undefined && step.nowMs < inviteAtMs) return undefined;
  const group = followersOf(step);
  // Skip the first time: all members may have started at once, and would all invite each other.
  if (inviteAtMs !== undefined)
    step.multicast(
      step.others.filter((id) => !group.includes(id)),
      { type: 'invite', round: leading.round, size: sizeOf(step) },
    );
  return step.set({ inviteAtMs: step.nowMs + inviteEveryMs * (0.5 + step.random() / 2) });
}

export function attendAtMs({ inviteAtMs }: BestEffortState): number | undefined {
  return inviteAtMs;
}
