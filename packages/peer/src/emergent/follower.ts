/** What a member makes of what others say of the list. */

import { coordinatorOf, entryOf, indexOf, isNewer, keyOf, type List } from './list.ts';
import { install } from './install.ts';
import { rejoin } from './joiner.ts';
import { publish } from './keeper.ts';
import type { EmergentMessage } from './message.ts';
import type { Present } from './state.ts';
import { addStranger } from './strangers.ts';
import type { Turn } from './turn.ts';
import { accuse, hear, isMissed, isSuspect, widen } from './watch.ts';

type In<T extends EmergentMessage['type']> = Extract<EmergentMessage, { type: T }>;

/** Sends heartbeats, and to the coordinator now and then the question for its list; on a ring reports whom it misses. */
export function beat(turn: Turn): void {
  const { present, state, rules, now, nowMs } = turn;
  if (present === undefined) return;
  widen(turn);
  const { list, targets } = turn.present ?? present;
  const { incarnation, standing } = state;
  const { version, maker } = list;
  const coordinator = coordinatorOf(list);
  for (const i of targets) {
    const entry = list.members[i];
    if (entry !== undefined)
      turn.send(entry, { type: 'heartbeat', incarnation, version, maker, coordinator: keyOf(coordinator), standing });
  }
  turn.set({ beatAt: now, beatAtMs: nowMs + rules.heartbeatEveryMs });
  if (nowMs >= state.pullAtMs && coordinator.memberId !== state.memberId) pull(turn, coordinator.memberId);
  if (rules.successors !== undefined && turn.present !== undefined) report(turn, turn.present);
}

function pull(turn: Turn, from: string): void {
  const { present, state, rules, nowMs } = turn;
  const entry = present?.list.members[indexOf(present.list, from)];
  if (present === undefined || entry === undefined) return;
  const { version, maker } = present.list;
  turn.send(entry, { type: 'pull', incarnation: state.incarnation, version, maker, standing: state.standing });
  turn.set({ pullAtMs: nowMs + rules.pullEveryMs });
}

/** To whoever removes; if that one is missed itself, to all. */
function report(turn: Turn, present: Present): void {
  const { list, watch } = present;
  const { rules, nowMs, state } = turn;
  const isOwn = (i: number): boolean => list.members[i]?.memberId === state.memberId;
  const keys = list.members.flatMap((entry, i) => {
    const known = watch[i];
    return known !== undefined && !isOwn(i) && isMissed(rules, known, nowMs) ? [keyOf(entry)] : [];
  });
  if (keys.length === 0 || isOwn(0)) return;
  const message: EmergentMessage = { type: 'missed', incarnation: state.incarnation, keys };
  const first = coordinatorOf(list);
  if (isSuspect(turn, present, 0)) turn.tellAll(message);
  else turn.send(first, message);
}

export function onMissed(turn: Turn, from: string, { incarnation, keys }: In<'missed'>): void {
  const { present } = turn;
  if (present === undefined || entryOf(present.list, from, incarnation) === undefined) return;
  present.list.members.forEach((entry, i) => {
    if (keys.includes(keyOf(entry)) && entry.memberId !== turn.state.memberId) accuse(turn, i);
  });
}

export function onHeartbeat(turn: Turn, from: string, message: In<'heartbeat'>): void {
  const { incarnation, coordinator, standing } = message;
  const { present, nowMs, state, rules } = turn;
  if (present === undefined) return;
  const { list, role } = present;
  const index = entryOf(list, from, incarnation) === undefined ? -1 : indexOf(list, from);
  if (index < 0) {
    // Whoever takes this member for its coordinator, and is not in its list, must join again.
    if (coordinator === turn.key) turn.send({ memberId: from, address: addressOf(present, from) }, { type: 'removed', incarnation });
    else if (role.kind === 'coordinating') addStranger(turn, { memberId: from, address: addressOf(present, from) });
    return;
  }
  hear(turn, index, { beat: true, standing });
  const entry = list.members[index];
  if (entry === undefined) return;
  const isOurs = coordinator === keyOf(coordinatorOf(list));
  if (role.kind === 'coordinating') {
    if (!isOurs) addStranger(turn, entry);
    else outbid(turn, message);
    if (message.version < list.version && isOurs && role.pending?.waitingFor.includes(keyOf(entry)) !== true)
      turn.send(entry, { type: 'update', list });
    return;
  }
  const isNews = message.version > list.version || (index === 0 && isNewer(message, list));
  if (isNews && nowMs >= state.pullAtMs - rules.pullEveryMs + rules.heartbeatEveryMs / 2) pull(turn, from);
}

/**
 * A member has a list that the coordinator has never had, and that is no older than its own: one by which somebody passed the place on to it, when it had claimed that already.
 * What it keeps itself holds.
 */
function outbid(turn: Turn, { version, maker }: Pick<List, 'version' | 'maker'>): void {
  const { present } = turn;
  if (present?.role.kind !== 'coordinating' || version < present.list.version) return;
  if (version === present.list.version && maker === present.list.maker) return;
  turn.seen(version);
  publish(turn, { members: present.list.members });
}

function addressOf({ list }: Present, memberId: string): string {
  const isIt = (contact: { readonly memberId: string }): boolean => contact.memberId === memberId;
  return (list.members.find(isIt) ?? list.lost.find(isIt))?.address ?? '';
}

export function onPull(turn: Turn, from: string, message: In<'pull'>): void {
  const { incarnation, version, standing } = message;
  const { present, state } = turn;
  if (present === undefined) return;
  const { list } = present;
  const entry = entryOf(list, from, incarnation);
  if (entry === undefined) {
    // A coordinator's word counts, whatever version of its own that one has, which it may never have had itself.
    const isKeeper = present.role.kind === 'coordinating';
    if (isKeeper || list.version >= version)
      turn.send({ memberId: from, address: addressOf(present, from) }, { type: 'removed', incarnation });
    return;
  }
  hear(turn, indexOf(list, from), { standing });
  outbid(turn, message);
  if (isNewer(list, message)) turn.send(entry, { type: 'update', list });
  else turn.send(entry, { type: 'current', incarnation: state.incarnation, version: list.version });
}

export function onCurrent(turn: Turn, from: string, { incarnation }: In<'current'>): void {
  const { present } = turn;
  if (present !== undefined && entryOf(present.list, from, incarnation) !== undefined) hear(turn, indexOf(present.list, from));
}

/** Only its coordinator's word for it counts. */
export function onRemoved(turn: Turn, from: string, { incarnation }: In<'removed'>): void {
  const { present, state } = turn;
  if (present === undefined || incarnation !== state.incarnation || present.role.kind === 'coordinating') return;
  if (coordinatorOf(present.list).memberId === from) rejoin(turn, undefined);
}

/** A list from a member that has it. Whoever has it from its coordinator says so. */
export function onUpdate(turn: Turn, from: string, list: List): void {
  const { present, state } = turn;
  if (entryOf(list, state.memberId, state.incarnation) === undefined) return;
  if (state.phase.kind === 'joining') {
    enter(turn, list);
  } else if (present !== undefined && present.role.kind !== 'coordinating') {
    const index = indexOf(present.list, from);
    if (index >= 0) hear(turn, index);
    if (isSuccessor(turn, present, from, list)) install(turn, list);
    else if (isCalled(turn, present, from, list)) takeUp(turn, list);
  }
  const own = turn.present?.list;
  const first = coordinatorOf(list);
  if (own !== undefined && own.version >= list.version && keyOf(coordinatorOf(own)) === keyOf(first) && first.memberId === from)
    turn.send(first, { type: 'ack', incarnation: state.incarnation, version: own.version });
}

/**
 * Whether its coordinator takes this member for its own, by a newer list of the same number. Two that have passed their place on at once, after a split, may each have made one that names
 * the other.
 */
function isCalled(turn: Turn, { list: own }: Present, from: string, list: List): boolean {
  const isOfOne = list.version === own.version && isNewer(list, own);
  return isOfOne && coordinatorOf(own).memberId === from && keyOf(coordinatorOf(list)) === turn.key;
}

/** Keeps that list from now on, as the next version: versions rise. */
function takeUp(turn: Turn, list: List): void {
  const next = { ...list, version: turn.state.seenVersion + 1, maker: turn.key };
  install(turn, next);
  turn.tellAll({ type: 'update', list: next });
}

/** It has been let in. */
function enter(turn: Turn, list: List): void {
  install(turn, list);
  turn.set({ pullAtMs: turn.nowMs + turn.chance() * turn.rules.pullEveryMs, strangers: [] });
  beat(turn);
}

/**
 * A newer list follows on this member's own where its coordinator says so, where that one has passed its place on and is still there, or where this member misses it.
 * Else somebody else has claimed what is not his.
 */
function isSuccessor(turn: Turn, present: Present, from: string, list: List): boolean {
  if (list.version <= present.list.version) return false;
  const former = coordinatorOf(present.list);
  const isTold = from === former.memberId || keyOf(coordinatorOf(list)) === keyOf(former);
  return isTold || entryOf(list, former.memberId, former.incarnation) !== undefined || isSuspect(turn, present, 0);
}
