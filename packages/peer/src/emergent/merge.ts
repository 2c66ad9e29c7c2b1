/** How the sides of a partition find each other and merge. */

import type { Contact } from '../algorithm.ts';
import { onSought, rejoin } from './joiner.ts';
import { coordinatorOf, keyOf, yields } from './list.ts';
import type { MessageOf } from './message.ts';
import { addStranger } from './strangers.ts';
import type { StepContext } from './step-context.ts';
import { isSuspect } from './watch.ts';

/**
 * The coordinator searches for members that it has lost, for seeds that are not members, and for
 * other members that it has heard of.
 */
export function searchIfDue(step: StepContext): void {
  const { present, state, rules, nowMs } = step;
  if (present?.role.kind !== 'coordinating' || nowMs < state.searchAtMs) return;
  const { list } = present;
  const lost = nowMs - state.lostAtMs < rules.forgetAfterMs ? list.lost : [];
  const there = new Set(list.members.map(({ memberId }) => memberId));
  const missing = [...lost, ...state.seeds].filter(({ memberId }) => !there.has(memberId));
  const sought = new Map([...missing, ...state.strangers].map((contact) => [contact.memberId, contact]));
  sought.delete(state.memberId);
  const search = step.u32();
  for (const contact of sought.values()) step.send(contact, { type: 'probe', search, list });
  // Add a random time: otherwise two coordinators could probe each other at the same times for
  // ever.
  step.set({ strangers: [], search, searchAtMs: nowMs + rules.searchEveryMs * (0.75 + step.random() / 2) });
}

/**
 * A coordinator whose side must join sends a probe of its own: the received probe may be old, but
 * an answer to its own probe is not.
 */
export function onProbe(step: StepContext, from: string, { list, search }: MessageOf<'probe'>): void {
  const { present, state } = step;
  const theirs = coordinatorOf(list);
  if (theirs.memberId !== from) return;
  if (state.phase.kind === 'joining') return onSought(step, { memberId: from, address: theirs.address });
  if (present === undefined) return;
  const ours = coordinatorOf(present.list);
  if (present.role.kind === 'coordinating') {
    if (yields(present.list, list)) step.send(theirs, { type: 'probe', search: state.search, list: present.list });
    else step.send(theirs, { type: 'invite', search, list: present.list });
  } else if (keyOf(ours) === keyOf(theirs)) {
    // The sender is this member's own coordinator, and has removed this member.
    if (list.version >= present.list.version && !list.members.some((entry) => keyOf(entry) === step.key)) rejoin(step, undefined);
  } else if (isSuspect(step, present, 0)) {
    // Another coordinator has found this member while its own is suspect.
    rejoin(step, theirs);
  } else if (present.role.kind === 'following') {
    step.send(theirs, { type: 'seek', coordinator: { memberId: ours.memberId, address: ours.address } });
  }
}

/** The other side claims to be the larger one. Check that it still is, and merge. */
export function onInvite(step: StepContext, from: string, { list, search }: MessageOf<'invite'>): void {
  const { present } = step;
  const theirs = coordinatorOf(list);
  if (search !== step.state.search) return;
  if (present?.role.kind === 'coordinating' && theirs.memberId === from && yields(present.list, list)) merge(step, theirs);
}

/**
 * Another member names its coordinator. The next search probes it. If this happened at once, two
 * members that take each other for their coordinator would redirect the probe back and forth.
 */
export function onStranger(step: StepContext, coordinator: Contact | undefined): void {
  if (step.present?.role.kind === 'coordinating' && coordinator !== undefined) addStranger(step, coordinator);
}

/** All members of this side join the other side, as its youngest. */
function merge(step: StepContext, into: Contact): void {
  const { memberId, address } = into;
  step.broadcast({ type: 'merge', incarnation: step.state.incarnation, into: { memberId, address } });
  rejoin(step, { memberId, address });
}

export function onMerge(step: StepContext, from: string, { incarnation, into }: MessageOf<'merge'>): void {
  const { present } = step;
  if (present !== undefined && keyOf(coordinatorOf(present.list)) === keyOf({ memberId: from, incarnation })) rejoin(step, into);
}
