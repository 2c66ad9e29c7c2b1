/**
 * How the next member in the order becomes coordinator after a failure. It asks all other members
 * first, and adopts the newest list that any of them has. It becomes coordinator only if none of
 * them still follows a member before it.
 */

import { install } from './install.ts';
import { rejoin } from './joiner.ts';
import { addLost, publish } from './coordinator.ts';
import { coordinatorOf, entryOf, indexOf, keyOf } from './list.ts';
import type { MessageOf } from './message.ts';
import type { Present } from './state.ts';
import { addStranger } from './strangers.ts';
import type { StepContext } from './step-context.ts';
import { condemn, recordSign, isSuspect } from './watch.ts';

/** Whether this member suspects all members before it in the order. */
function isNext(step: StepContext, present: Present): boolean {
  const own = indexOf(present.list, step.state.memberId);
  return present.list.members.slice(0, own).every((_, i) => isSuspect(step, present, i));
}

export function claimIfNext(step: StepContext): void {
  const { present } = step;
  if (present?.role.kind === 'following' && isNext(step, present)) startClaim(step);
}

export function startClaim(step: StepContext): void {
  const { present, state, rules, nowMs } = step;
  if (present === undefined) return;
  const claim = state.claims + 1;
  const { list } = present;
  // Do not wait for the suspected coordinator, although the member asks it too. Wait for all
  // others: a member that seems to have failed may still be alive.
  const awaited = list.members.filter((entry, i) => i > 0 && entry.memberId !== state.memberId).map(keyOf);
  step.set({ claims: claim });
  step.setRole({
    kind: 'claiming',
    claim,
    untilMs: nowMs + rules.answerTimeoutMs,
    waitingFor: awaited,
    agreed: [],
    isRefused: false,
    newest: list,
    highest: list.version,
  });
  step.broadcast({ type: 'ask', claim, incarnation: state.incarnation, version: list.version });
  if (awaited.length === 0) conclude(step);
}

export function onAsk(step: StepContext, from: string, { claim, incarnation, version }: MessageOf<'ask'>): void {
  const { present, state } = step;
  if (present === undefined) return;
  const { list } = present;
  const entry = entryOf(list, from, incarnation);
  const known = entry ?? list.lost.find(({ memberId }) => memberId === from);
  step.send(known ?? { memberId: from, address: '' }, {
    type: 'answer',
    claim,
    incarnation: state.incarnation,
    version: list.version,
    coordinator: keyOf(coordinatorOf(list)),
    misses: isSuspect(step, present, 0),
    list: list.version > version ? list : undefined,
  });
}

export function onAnswer(step: StepContext, from: string, answer: MessageOf<'answer'>): void {
  const { present } = step;
  if (present?.role.kind !== 'claiming' || present.role.claim !== answer.claim) return;
  const { list, role } = present;
  const entry = entryOf(list, from, answer.incarnation);
  if (entry === undefined) return;
  const own = indexOf(list, step.state.memberId);
  const isBefore = list.members.slice(0, own).some((before) => keyOf(before) === answer.coordinator);
  const isOurs = isBefore || answer.coordinator === step.key;
  if (!isOurs) addStranger(step, entry);
  // A member that follows another coordinator and has no newer list belongs to the other side of a
  // partition. It will not claim the role on this side, so treat it as gone.
  if (isOurs || answer.list !== undefined) recordSign(step, indexOf(list, from));
  else condemn(step, indexOf(list, from));
  step.setRole({
    ...role,
    waitingFor: role.waitingFor.filter((key) => key !== keyOf(entry)),
    agreed: isOurs ? [...role.agreed, keyOf(entry)] : role.agreed,
    isRefused: role.isRefused || (isBefore && !answer.misses),
    newest: answer.list !== undefined && answer.list.version > role.newest.version ? answer.list : role.newest,
    highest: Math.max(role.highest, answer.version),
  });
  if (step.present?.role.kind === 'claiming' && step.present.role.waitingFor.length === 0) conclude(step);
}

/** Ends the claim: all members have answered, or the answer timeout is over. */
export function conclude(step: StepContext): void {
  const { present, state, nowMs } = step;
  if (present?.role.kind !== 'claiming') return;
  const { list, role } = present;
  const { newest, isRefused, highest, agreed, waitingFor } = role;
  step.setRole({ kind: 'following' });
  if (newest.version > list.version) {
    // The newer list may have removed this member or changed the members before it. So the member
    // asks again, based on that list.
    if (entryOf(newest, state.memberId, state.incarnation) === undefined) return rejoin(step, undefined);
    install(step, newest);
    return claimIfNext(step);
  }
  if (isRefused || !isNext(step, present)) return undefined;
  const stays = (i: number): boolean => {
    const key = keyOf(list.members[i] ?? state);
    return agreed.includes(key) || (waitingFor.includes(key) && !isSuspect(step, present, i));
  };
  const members = list.members.filter((entry, i) => entry.memberId === state.memberId || stays(i));
  const failed = list.members.filter((entry) => !members.includes(entry));
  step.set({ lostAtMs: nowMs });
  return publish(step, { members, lost: addLost(list.lost, failed), least: highest + 1, anew: true });
}
