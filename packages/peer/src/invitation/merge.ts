/** How two groups become one. */

import { end } from '../best-effort/leader.ts';
import type { OwnMessage, Say } from '../best-effort/message.ts';
import { goesBefore } from '../best-effort/rank.ts';
import type { Turn } from '../best-effort/turn.ts';
import { belong, followersOf, joined, left, sizeOf } from './group.ts';

export function onMessage(turn: Turn, from: string, message: OwnMessage | Say<'alive'>): void {
  switch (message.type) {
    case 'invite':
      return onInvite(turn, from, message);
    case 'accept':
      return onAccept(turn, from, message);
    case 'redirect':
      return onRedirect(turn, from, message.leader);
    case 'moved':
      return onMoved(turn, from, message);
    default:
      return undefined;
  }
}

/** A leader of a smaller group joins with all of it, that of a larger one invites back; a follower says whom it follows. */
function onInvite(turn: Turn, from: string, { size, round }: Say<'invite'>): void {
  const { leader } = turn;
  if (turn.state.leading === undefined && leader !== undefined && leader.id !== from)
    return turn.send(from, { type: 'redirect', round, leader: leader.id });
  if (turn.state.leading !== undefined && !goesBefore(turn.rules, { id: from, weight: size }, { id: turn.id, weight: sizeOf(turn) }))
    return invite(turn, from);
  return join(turn, from, round, size);
}

function join(turn: Turn, leader: string, round: number, size: number): void {
  const group = followersOf(turn).filter((id) => id !== leader);
  end(turn, 'superseded');
  belong(turn, leader, round, size);
  turn.send(leader, { type: 'accept', round, group, onward: false });
  turn.tell(group, { type: 'moved', round, leader });
}

function invite(turn: Turn, to: string): void {
  const { leading } = turn.state;
  if (leading !== undefined) turn.send(to, { type: 'invite', round: leading.round, size: sizeOf(turn) });
}

/** Who leads no longer sends those that have joined it on, and tells the leader that it follows: once, as that one may have joined another as well. */
function onAccept(turn: Turn, from: string, { group, round, onward }: Say<'accept'>): void {
  const { leader } = turn;
  const all = [from, ...group.filter((id) => id !== turn.id)];
  if (turn.state.leading !== undefined) return joined(turn, all);
  if (leader === undefined || leader.id === from) return undefined;
  if (!onward) turn.send(leader.id, { type: 'accept', round, group: all.filter((id) => id !== leader.id), onward: true });
  return turn.tell(all, { type: 'moved', round, leader: leader.id });
}

/**
 * A member is in another group than this one thought, or its leader leads no longer. Who leads it is not invited for that: all are, now and then, and two that take each other for
 * their leader would send this one to and fro.
 */
function onRedirect(turn: Turn, from: string, to: string): void {
  if (turn.state.leading === undefined) return;
  left(turn, from);
  if (to === turn.id) joined(turn, [from]);
}

/** Its own leader has joined another group, and this member with it. */
function onMoved(turn: Turn, from: string, { leader, round }: Say<'moved'>): void {
  if (turn.state.leading !== undefined || leader === turn.id) return undefined;
  if (turn.leader !== undefined && turn.leader.id !== from) return undefined;
  belong(turn, leader, round, 0);
}
