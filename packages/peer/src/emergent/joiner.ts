/**
 * How a process joins a cluster, through seeds or through members that it knows, and how the first
 * process founds one.
 */

import type { Contact } from '../algorithm.ts';
import { coordinatorOf, revise, type List } from './list.ts';
import { install } from './install.ts';
import type { MessageOf } from './message.ts';
import { end } from './end.ts';
import { MAX_MEMBERS } from './options.ts';
import type { Joining } from './state.ts';
import type { StepContext } from './step-context.ts';
import { accuse } from './watch.ts';

/** The transport reports seeds, for the first time or after a change. */
export function onSeeds(step: StepContext, self: string, seeds: readonly Contact[]): void {
  step.set({ address: self, seeds });
  if (step.state.phase.kind === 'waiting') startJoin(step, [], undefined, undefined);
}

/**
 * Joins again, as the youngest member and under a new incarnation. Messages about the former
 * incarnation do not apply to the new one.
 */
export function rejoin(step: StepContext, into: Contact | undefined): void {
  const { present, state } = step;
  if (present === undefined) return;
  end(step, 'merged');
  const contacts = [...(into === undefined ? [] : [into]), ...present.list.members, ...present.list.lost, ...state.strangers];
  step.event({ type: 'membership', membership: undefined });
  startJoin(
    step,
    contacts.map(({ memberId, address }) => ({ memberId, address })),
    into,
    present.list,
  );
}

function startJoin(step: StepContext, contacts: readonly Contact[], into: Contact | undefined, former: List | undefined): void {
  step.set({ incarnation: step.u32(), strangers: [] });
  attempt(
    step,
    { kind: 'joining', attempt: 0, untilMs: 0, contacts: unique(contacts), asked: [], isHeard: false, founders: [], former },
    into,
  );
}

function unique(contacts: readonly Contact[]): readonly Contact[] {
  return [...new Map(contacts.map((contact) => [contact.memberId, contact])).values()];
}

function attempt(step: StepContext, joining: Joining, only: Contact | undefined): void {
  const { state, rules, nowMs } = step;
  const contacts = only === undefined ? unique([...joining.contacts, ...state.seeds]) : [only];
  // Add a random time, so that processes that start together do not ask at the same times.
  const untilMs = nowMs + rules.answerTimeoutMs * (1 + step.random() / 4);
  step.set({ phase: { ...joining, attempt: joining.attempt + 1, untilMs, asked: [], isHeard: false, founders: [] } });
  for (const contact of contacts) ask(step, contact);
}

function ask(step: StepContext, contact: Contact): void {
  const { state } = step;
  const { phase, incarnation, address, standing } = state;
  if (phase.kind !== 'joining' || contact.memberId === state.memberId || phase.asked.includes(contact.memberId)) return;
  step.set({ phase: { ...phase, asked: [...phase.asked, contact.memberId] } });
  step.send(contact, { type: 'join', incarnation, address, standing });
}

/**
 * Checks whether this attempt is over. A seed founds a cluster if no member has answered and no
 * seed with a lower id could found one. A former member founds a cluster after its last attempt in
 * any case: a coordinator that does not receive its requests may still probe it. The search then
 * finds the other members.
 */
export function onAttempt(step: StepContext): void {
  const { phase, memberId } = step.state;
  if (phase.kind !== 'joining' || step.nowMs < phase.untilMs) return;
  if (mustFound(step, phase)) return found(step, phase);
  const isFirst = phase.founders.every((id) => memberId < id);
  if (isSeed(step) && !phase.isHeard && isFirst) return found(step, phase);
  if (phase.attempt < step.rules.joinAttempts) return attempt(step, phase, undefined);
  step.set({ phase: { kind: 'waiting' } });
  step.event({ type: 'joinFailed' });
}

function isSeed({ state }: StepContext): boolean {
  return state.seeds.some(({ memberId }) => memberId === state.memberId);
}

/** After its last attempt, a former member founds a cluster instead of giving up. */
function mustFound({ rules }: StepContext, { attempt: attempts, former }: Joining): boolean {
  return former !== undefined && attempts >= rules.joinAttempts;
}

/**
 * With `majority`, a former member counts the members of its last list. Alone, it is a minority of
 * them.
 */
function found(step: StepContext, { contacts, former }: Joining): void {
  const { memberId, address, incarnation, standing, seenVersion } = step.state;
  const members = [{ memberId, address, incarnation, age: 1, standing }];
  const before = former ?? { version: 0, maker: step.key, round: 0, members, lost: [], minorityOf: [] };
  install(
    step,
    revise(step.rules, before, { maker: step.key, members, lost: contacts.slice(0, MAX_MEMBERS), least: seenVersion + 1, anew: true }),
  );
  step.set({ beatAt: step.now, beatAtMs: step.nowMs + step.rules.heartbeatEveryMs });
}

/**
 * Answers a process that asks to join. This member is not the coordinator, so it names the
 * coordinator.
 */
export function onJoinElsewhere(step: StepContext, from: string, { incarnation, address }: MessageOf<'join'>): void {
  const { state, present } = step;
  const asker = { memberId: from, address };
  if (state.phase.kind === 'joining') return step.send(asker, { type: 'waiting', mayFound: isSeed(step) || mustFound(step, state.phase) });
  if (present === undefined) return undefined;
  const index = present.list.members.findIndex((entry) => entry.memberId === from);
  // The process seems to have restarted. Check whether its former incarnation has gone: the message
  // may also be an old one.
  if (index >= 0 && present.list.members[index]?.incarnation !== incarnation) accuse(step, index);
  const { memberId, address: at } = coordinatorOf(present.list);
  const isFollower = present.role.kind === 'following' && memberId !== from;
  return step.send(asker, { type: 'seek', coordinator: isFollower ? { memberId, address: at } : undefined });
}

export function onWaiting(step: StepContext, from: string, { mayFound: would }: MessageOf<'waiting'>): void {
  const { phase } = step.state;
  if (phase.kind === 'joining' && would) step.set({ phase: { ...phase, founders: [...phase.founders, from] } });
}

/** A member reports that a cluster exists, and names its coordinator. */
export function onSought(step: StepContext, coordinator: Contact | undefined): void {
  const { phase } = step.state;
  if (phase.kind !== 'joining') return;
  step.set({
    phase: { ...phase, isHeard: true, contacts: unique(coordinator === undefined ? phase.contacts : [...phase.contacts, coordinator]) },
  });
  if (coordinator !== undefined) ask(step, coordinator);
}
