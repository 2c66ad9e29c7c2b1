/** How two groups become one. */

import { end } from '../best-effort/leader.ts';
import type { OwnMessage, Say } from '../best-effort/message.ts';
import { goesBefore } from '../best-effort/rank.ts';
import type { StepContext } from '../best-effort/step-context.ts';
import { belong, followersOf, joined, left, sizeOf } from './group.ts';

export function onMessage(step: StepContext, from: string, message: OwnMessage | Say<'alive'>): void {
  switch (message.type) {
    case 'invite':
      return onInvite(step, from, message);
    case 'accept':
      return onAccept(step, from, message);
    case 'redirect':
      return onRedirect(step, from, message.leader);
    case 'moved':
      return onMoved(step, from, message);
    default:
      return undefined;
  }
}

/**
 * A leader of a smaller group joins with all of it, that of a larger one invites back; a follower
 * says whom it follows.
 */
function onInvite(step: StepContext, from: string, { size, round }: Say<'invite'>): void {
  const { leader } = step;
  if (step.state.leading === undefined && leader !== undefined && leader.id !== from)
    return step.send(from, { type: 'redirect', round, leader: leader.id });
  if (step.state.leading !== undefined && !goesBefore(step.rules, { id: from, weight: size }, { id: step.id, weight: sizeOf(step) }))
    return invite(step, from);
  return join(step, from, round, size);
}

function join(step: StepContext, leader: string, round: number, size: number): void {
  const group = followersOf(step).filter((id) => id !== leader);
  end(step, 'superseded');
  belong(step, leader, round, size);
  step.send(leader, { type: 'accept', round, group, onward: false });
  step.tell(group, { type: 'moved', round, leader });
}

function invite(step: StepContext, to: string): void {
  const { leading } = step.state;
  if (leading !== undefined) step.send(to, { type: 'invite', round: leading.round, size: sizeOf(step) });
}

/**
 * Who leads no longer sends those that have joined it on, and tells the leader that it follows:
 * once, as that one may have joined another as well.
 */
function onAccept(step: StepContext, from: string, { group, round, onward }: Say<'accept'>): void {
  const { leader } = step;
  const all = [from, ...group.filter((id) => id !== step.id)];
  if (step.state.leading !== undefined) return joined(step, all);
  if (leader === undefined || leader.id === from) return undefined;
  if (!onward) step.send(leader.id, { type: 'accept', round, group: all.filter((id) => id !== leader.id), onward: true });
  return step.tell(all, { type: 'moved', round, leader: leader.id });
}

/**
 * A member is in another group than this one thought, or its leader leads no longer. Who leads it
 * is not invited for that: all are, now and then, and two that take each other for their leader
 * would send this one to and fro.
 */
function onRedirect(step: StepContext, from: string, to: string): void {
  if (step.state.leading === undefined) return;
  left(step, from);
  if (to === step.id) joined(step, [from]);
}

/** Its own leader has joined another group, and this member with it. */
function onMoved(step: StepContext, from: string, { leader, round }: Say<'moved'>): void {
  if (step.state.leading !== undefined || leader === step.id) return undefined;
  if (step.leader !== undefined && step.leader.id !== from) return undefined;
  belong(step, leader, round, 0);
}
