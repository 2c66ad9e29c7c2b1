/** What the coordinator does: it lets in, it removes, and it sees to it that all know. */

import type { Contact } from '../algorithm.ts';
import { install } from './install.ts';
import { type Entry, entryOf, indexOf, inOrder, keyOf, nextAge, revise, type Revision } from './list.ts';
import type { EmergentMessage } from './message.ts';
import { MAX_MEMBERS } from './options.ts';
import type { Joiner, Pending } from './state.ts';
import type { Turn } from './turn.ts';
import { accuse, condemn, isSuspect } from './watch.ts';

type In<T extends EmergentMessage['type']> = Extract<EmergentMessage, { type: T }>;

/** Somebody asks to be let in. Many who ask while an update is under way are let in by one update after it. */
export function onJoin(turn: Turn, from: string, { incarnation, address, standing }: In<'join'>): void {
  const { present } = turn;
  if (present?.role.kind !== 'coordinating') return;
  const { role, list } = present;
  const joiner = { memberId: from, incarnation, address, standing };
  if (entryOf(list, from, incarnation) !== undefined) {
    // It is in, and has not heard of it.
    if (role.pending?.joiners.includes(keyOf(joiner)) !== true) turn.send(joiner, { type: 'update', list });
    return;
  }
  const former = indexOf(list, from);
  if (former >= 0 && !isSuspect(turn, present, former)) {
    // An old word, or a second process of that id: whoever is in is asked first, and if it is gone the next attempt succeeds.
    accuse(turn, former);
    return;
  }
  const others = role.joiners.filter(({ memberId }) => memberId !== from);
  if (others.length < MAX_MEMBERS) turn.setRole({ ...role, joiners: [...others, joiner] });
  review(turn);
}

/** A member has the list of that version. */
export function onAck(turn: Turn, from: string, { incarnation, version }: In<'ack'>): void {
  const { present } = turn;
  if (present?.role.kind !== 'coordinating' || present.role.pending === undefined) return;
  const { pending } = present.role;
  if (version < pending.version) return;
  const key = keyOf({ memberId: from, incarnation });
  const waitingFor = pending.waitingFor.filter((other) => other !== key);
  turn.setRole({ ...present.role, pending: { ...pending, waitingFor } });
  if (waitingFor.length === 0) complete(turn);
}

export function onLeave(turn: Turn, from: string, { incarnation }: In<'leave'>): void {
  const { present } = turn;
  if (present?.role.kind !== 'coordinating') return;
  const { role, list } = present;
  const entry = entryOf(list, from, incarnation);
  // Only a member can leave, and once: so there are no more of them than members.
  if (entry === undefined || role.leaving.includes(keyOf(entry))) return;
  turn.setRole({ ...role, leaving: [...role.leaving, keyOf(entry)] });
  review(turn);
}

/** The time for acknowledgements may be over. */
export function onPatience(turn: Turn): void {
  const { present, nowMs } = turn;
  if (present?.role.kind === 'coordinating' && present.role.pending !== undefined && nowMs >= present.role.pending.untilMs) complete(turn);
}

/** Whoever has neither acknowledged nor been heard since is suspect. Those who joined are told; then the next change. */
function complete(turn: Turn): void {
  const { present } = turn;
  if (present?.role.kind !== 'coordinating' || present.role.pending === undefined) return;
  const { waitingFor, joiners, sentAtMs } = present.role.pending;
  present.list.members.forEach((entry, i) => {
    if (waitingFor.includes(keyOf(entry)) && (present.watch[i]?.heardAtMs ?? 0) < sentAtMs) condemn(turn, i);
    if (joiners.includes(keyOf(entry))) turn.send(entry, { type: 'update', list: present.list });
  });
  if (turn.present?.role.kind === 'coordinating') turn.setRole({ ...turn.present.role, pending: undefined });
  review(turn);
}

/** Makes every change that is due, as one update. */
export function review(turn: Turn): void {
  const { present, rules, state, nowMs } = turn;
  if (present?.role.kind !== 'coordinating') return;
  const { role, list, watch } = present;
  const missing = list.members.filter((_, i) => isSuspect(turn, present, i));
  const missingSinceMs = missing.length === 0 ? undefined : (role.missingSinceMs ?? nowMs);
  turn.setRole({ ...role, missingSinceMs });
  // Of a split the others are missed one after the other: who counts must see all of it.
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
  if (failed.length > 0) turn.set({ lostAtMs: nowMs });
  turn.setRole({
    ...role,
    missingSinceMs: isSettled ? undefined : missingSinceMs,
    joiners: isIdle ? role.joiners.slice(joiners.length) : role.joiners,
    leaving: [],
  });
  publish(turn, { members, lost, left: left.map(({ memberId }) => memberId) }, joiners.map(keyOf));
}

/** Whoever begins or ceases to stand does so as the youngest; then whoever joins. */
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

/** Makes a new list, and tells everybody in it but those who join, whose turn comes when the others know. */
export function publish(turn: Turn, revision: Omit<Revision, 'maker'>, joiners: readonly string[] = []): void {
  const { present, rules, nowMs } = turn;
  if (present === undefined) return;
  const before = present.role.kind === 'coordinating' ? present.role.pending : undefined;
  const least = Math.max(revision.least ?? 0, turn.state.seenVersion + 1);
  const list = revise(rules, present.list, { ...revision, maker: turn.key, least });
  const keys = new Set(list.members.map(keyOf));
  const newcomers = [...(before?.joiners ?? []), ...joiners].filter((key) => keys.has(key));
  const told = list.members.filter((entry) => entry.memberId !== turn.state.memberId && !newcomers.includes(keyOf(entry)));
  install(turn, list);
  for (const entry of told) turn.send(entry, { type: 'update', list });
  const { role } = turn.present ?? {};
  if (role?.kind !== 'coordinating') {
    // Whoever has passed its place on does not wait for words of it, nor let those wait who were about to be told.
    for (const entry of list.members) if (newcomers.includes(keyOf(entry))) turn.send(entry, { type: 'update', list });
    return;
  }
  const pending: Pending = {
    version: list.version,
    sentAtMs: nowMs,
    untilMs: Math.min(nowMs + rules.answerTimeoutMs, newcomers.length > joiners.length ? (before?.untilMs ?? Infinity) : Infinity),
    waitingFor: told.map(keyOf),
    joiners: newcomers,
  };
  turn.setRole({ ...role, pending });
  if (told.length === 0) complete(turn);
}

/** Gives its place to a member that stands, and is the youngest itself, or to the next one. */
export function passOn(turn: Turn, to: string | undefined): void {
  const { present, state } = turn;
  if (present?.role.kind !== 'coordinating') return;
  const { members } = present.list;
  const [own, heir] = [members[0], members[to === undefined ? -1 : indexOf(present.list, to)]];
  if (own === undefined || heir === undefined || !heir.standing || heir.memberId === state.memberId) return review(turn);
  const others = members.filter((entry) => entry !== own && entry !== heir);
  publish(turn, { members: inOrder([...others, { ...heir, age: own.age }, { ...own, standing: false, age: nextAge(members) }]) });
}

/** Leaves for good: the others are told who is left. */
export function takeLeave(turn: Turn): void {
  const { present, rules, state } = turn;
  if (present === undefined) return;
  const first = present.list.members[0];
  if (first !== undefined && first.memberId !== state.memberId) return turn.send(first, { type: 'leave', incarnation: state.incarnation });
  const members = turn.others();
  if (members.length === 0) return;
  const list = revise(rules, present.list, { maker: turn.key, members, left: [state.memberId], least: state.seenVersion + 1 });
  for (const entry of members) turn.send(entry, { type: 'update', list });
}
