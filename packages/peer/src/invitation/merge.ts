/** Merges two groups. */

import { end } from '../best-effort/leader.ts';
import type { OwnMessage, MessageOf } from '../best-effort/message.ts';
import { goesBefore } from '../best-effort/rank.ts';
import type { StepContext } from '../best-effort/step-context.ts';
import { belong, followersOf, joined, left, sizeOf } from './group.ts';

export function onMessage(step: StepContext, from: string, message: OwnMessage | MessageOf<'alive'>): void {
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
 * Answers an invitation. The leader of the smaller group joins with its whole group. The leader of
 * the larger group sends an invitation back. A follower names its leader.
 */
function onInvite(step: StepContext, from: string, { size, round }: MessageOf<'invite'>): void {
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
  step.multicast(group, { type: 'moved', round, leader });
}

function invite(step: StepContext, to: string): void {
  const { leading } = step.state;
  if (leading !== undefined) step.send(to, { type: 'invite', round: leading.round, size: sizeOf(step) });
}

/**
 * Takes in the members that join. A member that no longer leads forwards them to its new leader.
 * They are forwarded only once: that leader may have joined another group too, and two followers
 * could forward them to each other for ever.
 */
function onAccept(step: StepContext, from: string, { group, round, onward }: MessageOf<'accept'>): void {
  const { leader } = step;
  const all = [from, ...group.filter((id) => id !== step.id)];
  if (step.state.leading !== undefined) return joined(step, all);
  if (leader === undefined || leader.id === from) return undefined;
  if (!onward) step.send(leader.id, { type: 'accept', round, group: all.filter((id) => id !== leader.id), onward: true });
  return step.multicast(all, { type: 'moved', round, leader: leader.id });
}

/**
 * A member belongs to another group, or its leader no longer leads. Do not invite that leader now:
 * the regular invitations reach all members, and two members that take each other for their leader
 * would redirect this one back and forth.
 */
function onRedirect(step: StepContext, from: string, to: string): void {
  if (step.state.leading === undefined) return;
  left(step, from);
  if (to === step.id) joined(step, [from]);
}

/** This member's leader has joined another group, and this member joins it too. */
function onMoved(step: StepContext, from: string, { leader, round }: MessageOf<'moved'>): void {
  if (step.state.leading !== undefined || leader === step.id) return undefined;
  if (step.leader !== undefined && step.leader.id !== from) return undefined;
  belong(step, leader, round, 0);
}
