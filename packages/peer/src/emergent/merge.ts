/** How the sides of a split find each other, and become one again. */

import type { Contact } from '../algorithm.ts';
import { onSought, rejoin } from './joiner.ts';
import { coordinatorOf, keyOf, yields } from './list.ts';
import type { EmergentMessage } from './message.ts';
import { addStranger } from './strangers.ts';
import type { Turn } from './turn.ts';
import { isSuspect } from './watch.ts';

type In<T extends EmergentMessage['type']> = Extract<EmergentMessage, { type: T }>;

/** The coordinator looks for those that it has lost, for seeds that are not with it, and for whoever was heard of. */
export function searchIfDue(turn: Turn): void {
  const { present, state, rules, nowMs } = turn;
  if (present?.role.kind !== 'coordinating' || nowMs < state.searchAtMs) return;
  const { list } = present;
  const lost = nowMs - state.lostAtMs < rules.forgetAfterMs ? list.lost : [];
  const there = new Set(list.members.map(({ memberId }) => memberId));
  const missing = [...lost, ...state.seeds].filter(({ memberId }) => !there.has(memberId));
  const sought = new Map([...missing, ...state.strangers].map((contact) => [contact.memberId, contact]));
  sought.delete(state.memberId);
  const search = turn.u32();
  for (const contact of sought.values()) turn.send(contact, { type: 'probe', search, list });
  // Not in step with the others', or two would for ever ask each other at once.
  turn.set({ strangers: [], search, searchAtMs: nowMs + rules.searchEveryMs * (0.75 + turn.chance() / 2) });
}

/** Whoever finds that it is to join asks in its turn: this question may be an old one, and an answer to its own is not. */
export function onProbe(turn: Turn, from: string, { list, search }: In<'probe'>): void {
  const { present, state } = turn;
  const theirs = coordinatorOf(list);
  if (theirs.memberId !== from) return;
  if (state.phase.kind === 'joining') return onSought(turn, { memberId: from, address: theirs.address });
  if (present === undefined) return;
  const ours = coordinatorOf(present.list);
  if (present.role.kind === 'coordinating') {
    if (yields(present.list, list)) turn.send(theirs, { type: 'probe', search: state.search, list: present.list });
    else turn.send(theirs, { type: 'invite', search, list: present.list });
  } else if (keyOf(ours) === keyOf(theirs)) {
    // It is this member's own, and has lost it.
    if (list.version >= present.list.version && !list.members.some((entry) => keyOf(entry) === turn.key)) rejoin(turn, undefined);
  } else if (isSuspect(turn, present, 0)) {
    // Found by another one while its own is missed.
    rejoin(turn, theirs);
  } else if (present.role.kind === 'following') {
    turn.send(theirs, { type: 'seek', coordinator: { memberId: ours.memberId, address: ours.address } });
  }
}

/** The other side says that it is the larger one: so it is, if this one is no larger by now. */
export function onInvite(turn: Turn, from: string, { list, search }: In<'invite'>): void {
  const { present } = turn;
  const theirs = coordinatorOf(list);
  if (search !== turn.state.search) return;
  if (present?.role.kind === 'coordinating' && theirs.memberId === from && yields(present.list, list)) merge(turn, theirs);
}

/** Whom a stranger is with: to be asked by the next search. At once, two that take each other for their coordinator would send the question to and fro. */
export function onStranger(turn: Turn, coordinator: Contact | undefined): void {
  if (turn.present?.role.kind === 'coordinating' && coordinator !== undefined) addStranger(turn, coordinator);
}

/** All leave, and join the others as the youngest. */
function merge(turn: Turn, into: Contact): void {
  const { memberId, address } = into;
  turn.tellAll({ type: 'merge', incarnation: turn.state.incarnation, into: { memberId, address } });
  rejoin(turn, { memberId, address });
}

export function onMerge(turn: Turn, from: string, { incarnation, into }: In<'merge'>): void {
  const { present } = turn;
  if (present !== undefined && keyOf(coordinatorOf(present.list)) === keyOf({ memberId: from, incarnation })) rejoin(turn, into);
}
