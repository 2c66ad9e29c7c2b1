/** A group: its leader, and those that have joined it. Only they hear its heartbeats. */

import { giveUpElection, takeOffice } from '../best-effort/detector.ts';
import { beat, lead } from '../best-effort/leader.ts';
import { nextRound, type Say } from '../best-effort/message.ts';
import type { BestEffortState, Follower } from '../best-effort/state.ts';
import type { Led, Turn } from '../best-effort/turn.ts';

/** Those that follow this member; nobody, if it does not lead. */
export function followersOf({ state: { leading } }: Turn): readonly string[] {
  return leading?.followers.map(({ id }) => id) ?? [];
}

/** How many its group has. */
export function sizeOf(turn: Turn): number {
  return followersOf(turn).length + 1;
}

/** A group of its own. */
export function begin(turn: Turn): void {
  if (turn.mayLead) takeOffice(turn, nextRound(turn.state.round));
  else giveUpElection(turn);
}

export function joined(turn: Turn, ids: readonly string[]): void {
  const { leading } = turn.state;
  if (leading === undefined) return;
  const known = new Set(leading.followers.map(({ id }) => id));
  const fresh: readonly Follower[] = ids
    .filter((id) => id !== turn.id && !known.has(id))
    .map((id) => ({ id, standing: false, atMs: turn.nowMs }));
  turn.set({ leading: { ...leading, followers: [...leading.followers, ...fresh] } });
}

export function left(turn: Turn, id: string): void {
  const { leading } = turn.state;
  if (leading !== undefined) turn.set({ leading: { ...leading, followers: leading.followers.filter((one) => one.id !== id) } });
}

/** It is in this one's group from now on, and in no other. */
export function belong(turn: Turn, leader: string, round: number, size: number): void {
  turn.set({ leaders: [{ id: leader, round, weight: size, atMs: turn.nowMs, byItself: true, successors: [] }], electAtMs: undefined });
}

/** Of its own leader it is heard; another one takes this member for one of its group, and is told where it is. */
export function onHeartbeat(turn: Turn, from: string, { round, weight }: Say<'heartbeat'>): void {
  const { leader } = turn;
  if (turn.state.leading !== undefined) return turn.send(from, { type: 'redirect', round, leader: turn.id });
  if (leader !== undefined && leader.id !== from) return turn.send(from, { type: 'redirect', round, leader: leader.id });
  belong(turn, from, round, weight);
  return turn.send(from, { type: 'heartbeatAnswer', round, standing: turn.mayLead, failures: [] });
}

/** The group is this member's now. */
export function onHandover(turn: Turn, from: string, { group }: Say<'handover'>): void {
  lead(turn);
  joined(turn, [from, ...group]);
}

/** A group whose leader resigns is none any more; one that is handed over is told by whom it is led. */
export function release(turn: Turn, { round, group }: Led, to: string | undefined): void {
  if (to === undefined) return turn.tell(group, { type: 'resigned', round });
  const rest = group.filter((id) => id !== to);
  turn.send(to, { type: 'handover', round, group: rest });
  return turn.tell(rest, { type: 'moved', round, leader: to });
}

/** Heartbeats to the group, and, now and then, invitations to all others. */
export function attend(turn: Turn, inviteEveryMs: number): void {
  const { leading, inviteAtMs } = turn.state;
  if (leading === undefined) return turn.set({ inviteAtMs: undefined });
  if (turn.nowMs >= leading.heartbeatAtMs) beat(turn, followersOf(turn), sizeOf(turn));
  if (inviteAtMs !== undefined && turn.nowMs < inviteAtMs) return undefined;
  const group = followersOf(turn);
  // Not in the moment in which it begins: all may begin at once.
  if (inviteAtMs !== undefined)
    turn.tell(
      turn.others.filter((id) => !group.includes(id)),
      { type: 'invite', round: leading.round, size: sizeOf(turn) },
    );
  return turn.set({ inviteAtMs: turn.nowMs + inviteEveryMs * (0.5 + turn.chance() / 2) });
}

export function attendAtMs({ inviteAtMs }: BestEffortState): number | undefined {
  return inviteAtMs;
}
