/**
 * How the oldest one left comes to keep the list: it asks everybody first, takes the newest list that anybody has, and rules only if nobody still follows whoever comes
 * before it.
 */

import { install } from './install.ts';
import { rejoin } from './joiner.ts';
import { addLost, publish } from './keeper.ts';
import { coordinatorOf, entryOf, indexOf, keyOf } from './list.ts';
import type { EmergentMessage } from './message.ts';
import type { Present } from './state.ts';
import { addStranger } from './strangers.ts';
import type { Turn } from './turn.ts';
import { condemn, hear, isSuspect } from './watch.ts';

type In<T extends EmergentMessage['type']> = Extract<EmergentMessage, { type: T }>;

/** Whether everybody that comes before it is missed. */
function isNext(turn: Turn, present: Present): boolean {
  const own = indexOf(present.list, turn.state.memberId);
  return present.list.members.slice(0, own).every((_, i) => isSuspect(turn, present, i));
}

export function claimIfNext(turn: Turn): void {
  const { present } = turn;
  if (present?.role.kind === 'following' && isNext(turn, present)) startClaim(turn);
}

export function startClaim(turn: Turn): void {
  const { present, state, rules, nowMs } = turn;
  if (present === undefined) return;
  const claim = state.claims + 1;
  const { list } = present;
  // The coordinator that is missed is asked as well, but not waited for. Others may be missed for a while, and be there.
  const awaited = list.members.filter((entry, i) => i > 0 && entry.memberId !== state.memberId).map(keyOf);
  turn.set({ claims: claim });
  turn.setRole({
    kind: 'claiming',
    claim,
    untilMs: nowMs + rules.answerTimeoutMs,
    waitingFor: awaited,
    agreed: [],
    isRefused: false,
    newest: list,
    highest: list.version,
  });
  turn.tellAll({ type: 'ask', claim, incarnation: state.incarnation, version: list.version });
  if (awaited.length === 0) conclude(turn);
}

export function onAsk(turn: Turn, from: string, { claim, incarnation, version }: In<'ask'>): void {
  const { present, state } = turn;
  if (present === undefined) return;
  const { list } = present;
  const entry = entryOf(list, from, incarnation);
  const known = entry ?? list.lost.find(({ memberId }) => memberId === from);
  turn.send(known ?? { memberId: from, address: '' }, {
    type: 'answer',
    claim,
    incarnation: state.incarnation,
    version: list.version,
    coordinator: keyOf(coordinatorOf(list)),
    misses: isSuspect(turn, present, 0),
    list: list.version > version ? list : undefined,
  });
}

export function onAnswer(turn: Turn, from: string, answer: In<'answer'>): void {
  const { present } = turn;
  if (present?.role.kind !== 'claiming' || present.role.claim !== answer.claim) return;
  const { list, role } = present;
  const entry = entryOf(list, from, answer.incarnation);
  if (entry === undefined) return;
  const own = indexOf(list, turn.state.memberId);
  const isBefore = list.members.slice(0, own).some((before) => keyOf(before) === answer.coordinator);
  const isOurs = isBefore || answer.coordinator === turn.key;
  if (!isOurs) addStranger(turn, entry);
  // One that lives with others, by an older list than this, is not going to claim, and is in nobody's way who would.
  if (isOurs || answer.list !== undefined) hear(turn, indexOf(list, from));
  else condemn(turn, indexOf(list, from));
  turn.setRole({
    ...role,
    waitingFor: role.waitingFor.filter((key) => key !== keyOf(entry)),
    agreed: isOurs ? [...role.agreed, keyOf(entry)] : role.agreed,
    isRefused: role.isRefused || (isBefore && !answer.misses),
    newest: answer.list !== undefined && answer.list.version > role.newest.version ? answer.list : role.newest,
    highest: Math.max(role.highest, answer.version),
  });
  if (turn.present?.role.kind === 'claiming' && turn.present.role.waitingFor.length === 0) conclude(turn);
}

/** All have answered, or the time for it is over. */
export function conclude(turn: Turn): void {
  const { present, state, nowMs } = turn;
  if (present?.role.kind !== 'claiming') return;
  const { list, role } = present;
  const { newest, isRefused, highest, agreed, waitingFor } = role;
  turn.setRole({ kind: 'following' });
  if (newest.version > list.version) {
    // It has been removed, or has missed a change, perhaps of who comes before it: so it asks again, by the newer list.
    if (entryOf(newest, state.memberId, state.incarnation) === undefined) return rejoin(turn, undefined);
    install(turn, newest);
    return claimIfNext(turn);
  }
  if (isRefused || !isNext(turn, present)) return undefined;
  const stays = (i: number): boolean => {
    const key = keyOf(list.members[i] ?? state);
    return agreed.includes(key) || (waitingFor.includes(key) && !isSuspect(turn, present, i));
  };
  const members = list.members.filter((entry, i) => entry.memberId === state.memberId || stays(i));
  const failed = list.members.filter((entry) => !members.includes(entry));
  turn.set({ lostAtMs: nowMs });
  return publish(turn, { members, lost: addLost(list.lost, failed), least: highest + 1, anew: true });
}
