/** How a member comes in: by asking seeds, or whoever it has been sent to; and how the first one begins. */

import type { Contact } from '../algorithm.ts';
import { coordinatorOf, revise, type List } from './list.ts';
import { install } from './install.ts';
import type { EmergentMessage } from './message.ts';
import { end } from './office.ts';
import { MAX_MEMBERS } from './options.ts';
import type { Joining } from './state.ts';
import type { Turn } from './turn.ts';
import { accuse } from './watch.ts';

type In<T extends EmergentMessage['type']> = Extract<EmergentMessage, { type: T }>;

/** The transport has told of seeds: for the first time, or of others. */
export function onSeeds(turn: Turn, self: string, seeds: readonly Contact[]): void {
  turn.set({ address: self, seeds });
  if (turn.state.phase.kind === 'waiting') startJoin(turn, [], undefined, undefined);
}

/** Joins again, as the youngest: under a new incarnation, by which nothing that is held against the former one counts. */
export function rejoin(turn: Turn, into: Contact | undefined): void {
  const { present, state } = turn;
  if (present === undefined) return;
  end(turn, 'merged');
  const contacts = [...(into === undefined ? [] : [into]), ...present.list.members, ...present.list.lost, ...state.strangers];
  turn.event({ type: 'membership', membership: undefined });
  startJoin(
    turn,
    contacts.map(({ memberId, address }) => ({ memberId, address })),
    into,
    present.list,
  );
}

function startJoin(turn: Turn, contacts: readonly Contact[], into: Contact | undefined, former: List | undefined): void {
  turn.set({ incarnation: turn.u32(), strangers: [] });
  attempt(
    turn,
    { kind: 'joining', attempt: 0, untilMs: 0, contacts: unique(contacts), asked: [], isHeard: false, founders: [], former },
    into,
  );
}

function unique(contacts: readonly Contact[]): readonly Contact[] {
  return [...new Map(contacts.map((contact) => [contact.memberId, contact])).values()];
}

function attempt(turn: Turn, joining: Joining, only: Contact | undefined): void {
  const { state, rules, nowMs } = turn;
  const contacts = only === undefined ? unique([...joining.contacts, ...state.seeds]) : [only];
  // Those that begin together do not ask in step.
  const untilMs = nowMs + rules.answerTimeoutMs * (1 + turn.chance() / 4);
  turn.set({ phase: { ...joining, attempt: joining.attempt + 1, untilMs, asked: [], isHeard: false, founders: [] } });
  for (const contact of contacts) ask(turn, contact);
}

function ask(turn: Turn, contact: Contact): void {
  const { state } = turn;
  const { phase, incarnation, address, standing } = state;
  if (phase.kind !== 'joining' || contact.memberId === state.memberId || phase.asked.includes(contact.memberId)) return;
  turn.set({ phase: { ...phase, asked: [...phase.asked, contact.memberId] } });
  turn.send(contact, { type: 'join', incarnation, address, standing });
}

/**
 * An attempt may be over. A seed founds a cluster where nobody has answered, and nobody with a better
 * right would found one. A former member founds one after its last attempt, whatever it has heard: a
 * coordinator that does not receive its questions may still probe it. The search then finds the others.
 */
export function onAttempt(turn: Turn): void {
  const { phase, memberId } = turn.state;
  if (phase.kind !== 'joining' || turn.nowMs < phase.untilMs) return;
  if (mustFound(turn, phase)) return found(turn, phase);
  const isFirst = phase.founders.every((id) => memberId < id);
  if (isSeed(turn) && !phase.isHeard && isFirst) return found(turn, phase);
  if (phase.attempt < turn.rules.joinAttempts) return attempt(turn, phase, undefined);
  turn.set({ phase: { kind: 'waiting' } });
  turn.event({ type: 'joinFailed' });
}

function isSeed({ state }: Turn): boolean {
  return state.seeds.some(({ memberId }) => memberId === state.memberId);
}

/** A former member does not give up after its last attempt. */
function mustFound({ rules }: Turn, { attempt: attempts, former }: Joining): boolean {
  return former !== undefined && attempts >= rules.joinAttempts;
}

/** With `majority`, a former member counts those of its last list: alone it is a minority of them. */
function found(turn: Turn, { contacts, former }: Joining): void {
  const { memberId, address, incarnation, standing, seenVersion } = turn.state;
  const members = [{ memberId, address, incarnation, age: 1, standing }];
  const before = former ?? { version: 0, maker: turn.key, round: 0, members, lost: [], minorityOf: [] };
  install(
    turn,
    revise(turn.rules, before, { maker: turn.key, members, lost: contacts.slice(0, MAX_MEMBERS), least: seenVersion + 1, anew: true }),
  );
  turn.set({ beatAt: turn.now, beatAtMs: turn.nowMs + turn.rules.heartbeatEveryMs });
}

/** Somebody else asks to be let in, and this member keeps no list: it says who does. */
export function onJoinElsewhere(turn: Turn, from: string, { incarnation, address }: In<'join'>): void {
  const { state, present } = turn;
  const asker = { memberId: from, address };
  if (state.phase.kind === 'joining') return turn.send(asker, { type: 'waiting', mayFound: isSeed(turn) || mustFound(turn, state.phase) });
  if (present === undefined) return undefined;
  const index = present.list.members.findIndex((entry) => entry.memberId === from);
  // It seems to have begun anew; unless this word is an old one, its former self is gone.
  if (index >= 0 && present.list.members[index]?.incarnation !== incarnation) accuse(turn, index);
  const { memberId, address: at } = coordinatorOf(present.list);
  const canTell = present.role.kind === 'following' && memberId !== from;
  return turn.send(asker, { type: 'seek', coordinator: canTell ? { memberId, address: at } : undefined });
}

export function onWaiting(turn: Turn, from: string, { mayFound: would }: In<'waiting'>): void {
  const { phase } = turn.state;
  if (phase.kind === 'joining' && would) turn.set({ phase: { ...phase, founders: [...phase.founders, from] } });
}

/** There is a cluster, and this is who lets in. */
export function onSought(turn: Turn, coordinator: Contact | undefined): void {
  const { phase } = turn.state;
  if (phase.kind !== 'joining') return;
  turn.set({
    phase: { ...phase, isHeard: true, contacts: unique(coordinator === undefined ? phase.contacts : [...phase.contacts, coordinator]) },
  });
  if (coordinator !== undefined) ask(turn, coordinator);
}
