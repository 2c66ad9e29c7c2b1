/** The coordinator. It alone adds and removes members, and sends the new list to all of them. */

import type { Contact } from '../algorithm.ts';
import { install } from './install.ts';
import { type Entry, entryOf, indexOf, inOrder, keyOf, nextAge, revise, type Revision } from './list.ts';
import type { MessageOf } from './message.ts';
import { MAX_MEMBERS } from './options.ts';
import type { Joiner, Pending } from './state.ts';
import type { StepContext } from './step-context.ts';
import { accuse, condemn, isSuspect } from './watch.ts';

/**
 * A process asks to join. Processes that ask while an update is in progress join together with the
 * next update.
 */
export function onJoin(step: StepContext, from: string, { incarnation, address, standing }: MessageOf<'join'>): void {
  const { present } = step;
  if (present?.role.kind !== 'coordinating') return;
  const { role, list } = present;
  const joiner = { memberId: from, incarnation, address, standing };
  if (entryOf(list, from, incarnation) !== undefined) {
    // The process is a member already, but has not received the list yet.
    if (role.pending?.joiners.includes(keyOf(joiner)) !== true) step.send(joiner, { type: 'update', list });
    return;
  }
  const former = indexOf(list, from);
  if (former >= 0 && !isSuspect(step, present, former)) {
    // The message is old, or a second process uses this id. First check whether the current member
    // is alive. If it is not, the next attempt to join succeeds.
    accuse(step, former);
    return;
  }
  const others = role.joiners.filter(({ memberId }) => memberId !== from);
  if (others.length < MAX_MEMBERS) step.setRole({ ...role, joiners: [...others, joiner] });
  review(step);
}

/** A member has acknowledged the list of this version. */
export function onAck(step: StepContext, from: string, { incarnation, version }: MessageOf<'ack'>): void {
  const { present } = step;
  if (present?.role.kind !== 'coordinating' || present.role.pending === undefined) return;
  const { pending } = present.role;
  if (version < pending.version) return;
  const key = keyOf({ memberId: from, incarnation });
  const waitingFor = pending.waitingFor.filter((other) => other !== key);
  step.setRole({ ...present.role, pending: { ...pending, waitingFor } });
  if (waitingFor.length === 0) complete(step);
}

export function onLeave(step: StepContext, from: string, { incarnation }: MessageOf<'leave'>): void {
  const { present } = step;
  if (present?.role.kind !== 'coordinating') return;
  const { role, list } = present;
  const entry = entryOf(list, from, incarnation);
  // Only members can leave, each of them once. So this list is no longer than the list of members.
  if (entry === undefined || role.leaving.includes(keyOf(entry))) return;
  step.setRole({ ...role, leaving: [...role.leaving, keyOf(entry)] });
  review(step);
}

/** Completes the update if the time for acknowledgements is over. */
export function onAckTimeout(step: StepContext): void {
  const { present, nowMs } = step;
  if (present?.role.kind === 'coordinating' && present.role.pending !== undefined && nowMs >= present.role.pending.untilMs) complete(step);
}

/**
 * Ends the update. Suspects the members that have neither acknowledged it nor sent anything since.
 * Sends the list to the new members, and starts the next change.
 */
function complete(step: StepContext): void {
  const { present } = step;
  if (present?.role.kind !== 'coordinating' || present.role.pending === undefined) return;
  const { waitingFor, joiners, sentAtMs } = present.role.pending;
  present.list.members.forEach((entry, i) => {
    if (waitingFor.includes(keyOf(entry)) && (present.watch[i]?.heardAtMs ?? 0) < sentAtMs) condemn(step, i);
    if (joiners.includes(keyOf(entry))) step.send(entry, { type: 'update', list: present.list });
  });
  if (step.present?.role.kind === 'coordinating') step.setRole({ ...step.present.role, pending: undefined });
  review(step);
}

/** Makes all changes that are due, as one update. */
export function review(step: StepContext): void {
  const { present, rules, state, nowMs } = step;
  if (present?.role.kind !== 'coordinating') return;
  const { role, list, watch } = present;
  const missing = list.members.filter((_, i) => isSuspect(step, present, i));
  const missingSinceMs = missing.length === 0 ? undefined : (role.missingSinceMs ?? nowMs);
  step.setRole({ ...role, missingSinceMs });
  // After a partition, the members of the other side become suspect one after the other. A
  // coordinator that counts a majority must wait until it has noticed all of them.
  const isSettled = !rules.majority || nowMs - (missingSinceMs ?? nowMs) >= rules.answerTimeoutMs;
  const failed = isSettled ? missing : [];
  const left = list.members.filter((entry) => role.leaving.includes(keyOf(entry)));
  const isIdle = role.pending === undefined;
  const changed = list.members.filter((entry, i) => {
    if (entry.memberId === state.memberId)
      return entry.standing !== state.standing && state.leading === undefined && state.keepUntilMs <= nowMs;
    return isIdle && watch[i]?.standing !== entry.standing;
  });
  const room = MAX_MEMBERS - list.members.length;
  const joiners = isIdle ? role.joiners.slice(0, Math.max(room, 0)) : [];
  if (failed.length + left.length + changed.length + joiners.length === 0) return;
  const gone = new Set([...failed, ...left].map(keyOf));
  const kept = list.members.filter((entry) => !gone.has(keyOf(entry)) && !joiners.some(({ memberId }) => memberId === entry.memberId));
  const members = aged(kept, changed, joiners);
  const lost = addLost(list.lost, failed);
  if (failed.length > 0) step.set({ lostAtMs: nowMs });
  step.setRole({
    ...role,
    missingSinceMs: isSettled ? undefined : missingSinceMs,
    joiners: isIdle ? role.joiners.slice(joiners.length) : role.joiners,
    leaving: [],
  });
  publish(step, { members, lost, left: left.map(({ memberId }) => memberId) }, joiners.map(keyOf));
}

/**
 * A member that starts or stops campaigning becomes the youngest. New members follow, as the
 * youngest of all.
 */
function aged(kept: readonly Entry[], changed: readonly Entry[], joiners: readonly Joiner[]): readonly Entry[] {
  let age = nextAge(kept);
  const stay = kept.map((entry) => (changed.includes(entry) ? { ...entry, standing: !entry.standing, age: age++ } : entry));
  return [...stay, ...joiners.map((joiner) => ({ ...joiner, age: age++ }))];
}

export function addLost(lost: readonly Contact[], failed: readonly Contact[]): readonly Contact[] {
  const ids = new Set(failed.map(({ memberId }) => memberId));
  const added = failed.map(({ memberId, address }) => ({ memberId, address }));
  return [...lost.filter(({ memberId }) => !ids.has(memberId)), ...added].slice(-MAX_MEMBERS);
}

/**
 * Creates a new list and sends it to all members in it except the new ones. The new members receive
 * it when the others have acknowledged it.
 */
export function publish(step: StepContext, revision: Omit<Revision, 'maker'>, joiners: readonly string[] = []): void {
  const { present, rules, nowMs } = step;
  if (present === undefined) return;
  const before = present.role.kind === 'coordinating' ? present.role.pending : undefined;
  const least = Math.max(revision.least ?? 0, step.state.seenVersion + 1);
  const list = revise(rules, present.list, { ...revision, maker: step.key, least });
  const keys = new Set(list.members.map(keyOf));
  const newcomers = [...(before?.joiners ?? []), ...joiners].filter((key) => keys.has(key));
  const informed = list.members.filter((entry) => entry.memberId !== step.state.memberId && !newcomers.includes(keyOf(entry)));
  install(step, list);
  for (const entry of informed) step.send(entry, { type: 'update', list });
  const { role } = step.present ?? {};
  if (role?.kind !== 'coordinating') {
    // This member has passed the coordinator's role on, so it does not wait for acknowledgements.
    // The new members must not wait either.
    for (const entry of list.members) if (newcomers.includes(keyOf(entry))) step.send(entry, { type: 'update', list });
    return;
  }
  const pending: Pending = {
    version: list.version,
    sentAtMs: nowMs,
    untilMs: Math.min(nowMs + rules.answerTimeoutMs, newcomers.length > joiners.length ? (before?.untilMs ?? Infinity) : Infinity),
    waitingFor: informed.map(keyOf),
    joiners: newcomers,
  };
  step.setRole({ ...role, pending });
  if (informed.length === 0) complete(step);
}

/**
 * Passes the coordinator's role to the member `to`, which campaigns; this member becomes the
 * youngest. Without `to`, the normal order applies.
 */
export function transferTo(step: StepContext, to: string | undefined): void {
  const { present, state } = step;
  if (present?.role.kind !== 'coordinating') return;
  const { members } = present.list;
  const [own, successor] = [members[0], members[to === undefined ? -1 : indexOf(present.list, to)]];
  if (own === undefined || successor === undefined || !successor.standing || successor.memberId === state.memberId) return review(step);
  const others = members.filter((entry) => entry !== own && entry !== successor);
  publish(step, { members: inOrder([...others, { ...successor, age: own.age }, { ...own, standing: false, age: nextAge(members) }]) });
}

/**
 * Leaves the cluster for good. A coordinator sends the remaining list to all; any other member
 * informs the coordinator.
 */
export function takeLeave(step: StepContext): void {
  const { present, rules, state } = step;
  if (present === undefined) return;
  const first = present.list.members[0];
  if (first !== undefined && first.memberId !== state.memberId) return step.send(first, { type: 'leave', incarnation: state.incarnation });
  const members = step.others();
  if (members.length === 0) return;
  const list = revise(rules, present.list, { maker: step.key, members, left: [state.memberId], least: state.seenVersion + 1 });
  for (const entry of members) step.send(entry, { type: 'update', list });
}
