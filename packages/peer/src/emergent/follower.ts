/** How a member handles the lists of other members, and messages about them. */

import { coordinatorOf, entryOf, indexOf, isNewer, keyOf, type List } from './list.ts';
import { install } from './install.ts';
import { rejoin } from './joiner.ts';
import { publish } from './coordinator.ts';
import type { EmergentMessage, MessageOf } from './message.ts';
import type { Present } from './state.ts';
import { addStranger } from './strangers.ts';
import type { StepContext } from './step-context.ts';
import { accuse, recordSign, isMissed, isSuspect, widen } from './watch.ts';

/**
 * Sends heartbeats. From time to time, asks the coordinator for its list. If heartbeats go to some
 * successors only, reports suspect members.
 */
export function beat(step: StepContext): void {
  const { present, state, rules, now, nowMs } = step;
  if (present === undefined) return;
  widen(step);
  const { list, targets } = step.present ?? present;
  const { incarnation, standing } = state;
  const { version, maker } = list;
  const coordinator = coordinatorOf(list);
  for (const i of targets) {
    const entry = list.members[i];
    if (entry !== undefined)
      step.send(entry, { type: 'heartbeat', incarnation, version, maker, coordinator: keyOf(coordinator), standing });
  }
  step.set({ beatAt: now, beatAtMs: nowMs + rules.heartbeatEveryMs });
  if (nowMs >= state.pullAtMs && coordinator.memberId !== state.memberId) pull(step, coordinator.memberId);
  if (rules.successors !== undefined && step.present !== undefined) report(step, step.present);
}

function pull(step: StepContext, from: string): void {
  const { present, state, rules, nowMs } = step;
  const entry = present?.list.members[indexOf(present.list, from)];
  if (present === undefined || entry === undefined) return;
  const { version, maker } = present.list;
  step.send(entry, { type: 'pull', incarnation: state.incarnation, version, maker, standing: state.standing });
  step.set({ pullAtMs: nowMs + rules.pullEveryMs });
}

/**
 * Reports to the coordinator, which removes members. If the coordinator itself is suspect, reports
 * to all.
 */
function report(step: StepContext, present: Present): void {
  const { list, watch } = present;
  const { rules, nowMs, state } = step;
  const isOwn = (i: number): boolean => list.members[i]?.memberId === state.memberId;
  const keys = list.members.flatMap((entry, i) => {
    const known = watch[i];
    return known !== undefined && !isOwn(i) && isMissed(rules, known, nowMs) ? [keyOf(entry)] : [];
  });
  if (keys.length === 0 || isOwn(0)) return;
  const message: EmergentMessage = { type: 'missed', incarnation: state.incarnation, keys };
  const first = coordinatorOf(list);
  if (isSuspect(step, present, 0)) step.broadcast(message);
  else step.send(first, message);
}

export function onMissed(step: StepContext, from: string, { incarnation, keys }: MessageOf<'missed'>): void {
  const { present } = step;
  if (present === undefined || entryOf(present.list, from, incarnation) === undefined) return;
  present.list.members.forEach((entry, i) => {
    if (keys.includes(keyOf(entry)) && entry.memberId !== step.state.memberId) accuse(step, i);
  });
}

export function onHeartbeat(step: StepContext, from: string, message: MessageOf<'heartbeat'>): void {
  const { incarnation, coordinator, standing } = message;
  const { present, nowMs, state, rules } = step;
  if (present === undefined) return;
  const { list, role } = present;
  const index = entryOf(list, from, incarnation) === undefined ? -1 : indexOf(list, from);
  if (index < 0) {
    // The sender follows this member as its coordinator, but is not in the list. It must join
    // again.
    if (coordinator === step.key) step.send({ memberId: from, address: addressOf(present, from) }, { type: 'removed', incarnation });
    else if (role.kind === 'coordinating') addStranger(step, { memberId: from, address: addressOf(present, from) });
    return;
  }
  recordSign(step, index, { beat: true, standing });
  const entry = list.members[index];
  if (entry === undefined) return;
  const isOurs = coordinator === keyOf(coordinatorOf(list));
  if (role.kind === 'coordinating') {
    if (!isOurs) addStranger(step, entry);
    else outbid(step, message);
    if (message.version < list.version && isOurs && role.pending?.waitingFor.includes(keyOf(entry)) !== true)
      step.send(entry, { type: 'update', list });
    return;
  }
  const isNews = message.version > list.version || (index === 0 && isNewer(message, list));
  if (isNews && nowMs >= state.pullAtMs - rules.pullEveryMs + rules.heartbeatEveryMs / 2) pull(step, from);
}

/**
 * Replaces another member's list that is at least as new as the coordinator's own and that the
 * coordinator has never received. This happens when a coordinator passes its role to a member that
 * has already claimed it. The coordinator publishes its own list again under a higher version.
 */
function outbid(step: StepContext, { version, maker }: Pick<List, 'version' | 'maker'>): void {
  const { present } = step;
  if (present?.role.kind !== 'coordinating' || version < present.list.version) return;
  if (version === present.list.version && maker === present.list.maker) return;
  step.seen(version);
  publish(step, { members: present.list.members });
}

function addressOf({ list }: Present, memberId: string): string {
  const isIt = (contact: { readonly memberId: string }): boolean => contact.memberId === memberId;
  return (list.members.find(isIt) ?? list.lost.find(isIt))?.address ?? '';
}

export function onPull(step: StepContext, from: string, message: MessageOf<'pull'>): void {
  const { incarnation, version, standing } = message;
  const { present, state } = step;
  if (present === undefined) return;
  const { list } = present;
  const entry = entryOf(list, from, incarnation);
  if (entry === undefined) {
    // A coordinator decides who is a member, even if the sender has a higher version that this
    // coordinator has never received.
    const isCoordinator = present.role.kind === 'coordinating';
    if (isCoordinator || list.version >= version)
      step.send({ memberId: from, address: addressOf(present, from) }, { type: 'removed', incarnation });
    return;
  }
  recordSign(step, indexOf(list, from), { standing });
  outbid(step, message);
  if (isNewer(list, message)) step.send(entry, { type: 'update', list });
  else step.send(entry, { type: 'current', incarnation: state.incarnation, version: list.version });
}

export function onCurrent(step: StepContext, from: string, { incarnation }: MessageOf<'current'>): void {
  const { present } = step;
  if (present !== undefined && entryOf(present.list, from, incarnation) !== undefined) recordSign(step, indexOf(present.list, from));
}

/** The member accepts its removal only from its coordinator. */
export function onRemoved(step: StepContext, from: string, { incarnation }: MessageOf<'removed'>): void {
  const { present, state } = step;
  if (present === undefined || incarnation !== state.incarnation || present.role.kind === 'coordinating') return;
  if (coordinatorOf(present.list).memberId === from) rejoin(step, undefined);
}

/** Receives a list. Acknowledges it if its coordinator sent it. */
export function onUpdate(step: StepContext, from: string, list: List): void {
  const { present, state } = step;
  if (entryOf(list, state.memberId, state.incarnation) === undefined) return;
  if (state.phase.kind === 'joining') {
    enter(step, list);
  } else if (present !== undefined && present.role.kind !== 'coordinating') {
    const index = indexOf(present.list, from);
    if (index >= 0) recordSign(step, index);
    if (isSuccessor(step, present, from, list)) install(step, list);
    else if (isNamedCoordinator(step, present, from, list)) acceptRole(step, list);
  }
  const own = step.present?.list;
  const first = coordinatorOf(list);
  if (own !== undefined && own.version >= list.version && keyOf(coordinatorOf(own)) === keyOf(first) && first.memberId === from)
    step.send(first, { type: 'ack', incarnation: state.incarnation, version: own.version });
}

/**
 * Whether this member's coordinator names this member as coordinator, in a newer list of the same
 * version. After a partition, two coordinators may pass their roles on at once, each to the other.
 */
function isNamedCoordinator(step: StepContext, { list: own }: Present, from: string, list: List): boolean {
  const isOfOne = list.version === own.version && isNewer(list, own);
  return isOfOne && coordinatorOf(own).memberId === from && keyOf(coordinatorOf(list)) === step.key;
}

/**
 * Adopts the list in which the coordinator names this member, and publishes it as the next version,
 * because versions must rise.
 */
function acceptRole(step: StepContext, list: List): void {
  const next = { ...list, version: step.state.seenVersion + 1, maker: step.key };
  install(step, next);
  step.broadcast({ type: 'update', list: next });
}

/** The member has joined. */
function enter(step: StepContext, list: List): void {
  install(step, list);
  step.set({ pullAtMs: step.nowMs + step.random() * step.rules.pullEveryMs, strangers: [] });
  beat(step);
}

/**
 * Whether a newer list continues this member's own. It does if the coordinator sent it or still
 * coordinates it, if the former coordinator is still in the list, or if this member suspects the
 * coordinator. Otherwise another member has claimed the role without reason.
 */
function isSuccessor(step: StepContext, present: Present, from: string, list: List): boolean {
  if (list.version <= present.list.version) return false;
  const former = coordinatorOf(present.list);
  const isFromCoordinator = from === former.memberId || keyOf(coordinatorOf(list)) === keyOf(former);
  return isFromCoordinator || entryOf(list, former.memberId, former.incarnation) !== undefined || isSuspect(step, present, 0);
}
