/** The bully's election: whoever notices asks those above it, and tells the best of those that answer, which tells all. */

import { giveUpElection, vouch } from '../best-effort/detector.ts';
import { leadAndTell } from '../best-effort/leader.ts';
import type { OwnMessage, Say } from '../best-effort/message.ts';
import { answer, ask, electable, onAnswer, type Asking } from '../best-effort/poll.ts';
import { goesBefore } from '../best-effort/rank.ts';
import type { Turn } from '../best-effort/turn.ts';

/** Asks those that go before it; who would not lead itself asks all. Where there is nobody to ask, it leads. */
export function begin(turn: Turn): void {
  const { rules, own } = turn;
  const above = turn.mayLead ? turn.others.filter((id) => goesBefore(rules, turn.standingOf(id), own)) : turn.others;
  if (above.length > 0) ask(turn, above, 'election');
  else if (turn.mayLead) leadAndTell(turn);
  else giveUpElection(turn);
}

export function onMessage(turn: Turn, from: string, message: OwnMessage | Say<'alive'>): void {
  if (message.type === 'election') return onElection(turn, from);
  if (message.type === 'grant') return onGrant(turn, from);
  const asking = message.type === 'alive' ? onAnswer(turn, from, message) : undefined;
  return asking === undefined ? undefined : choose(turn, asking);
}

export function onTimeout(turn: Turn): void {
  const { election } = turn.state;
  if (election?.kind === 'asking') choose(turn, election);
  else if (election?.kind === 'granting') grant(turn, election.rest);
}

function onElection(turn: Turn, from: string): void {
  if (!vouch(turn, from)) answer(turn, from);
}

function choose(turn: Turn, asking: Asking): void {
  grant(turn, electable(turn, asking));
}

/** The best is told, and given time to tell all; then the next one. */
function grant(turn: Turn, [best, ...rest]: readonly string[]): void {
  if (best === undefined) return giveUpElection(turn);
  if (best === turn.id) return leadAndTell(turn);
  turn.send(best, { type: 'grant', round: turn.state.round });
  return turn.set({ election: { kind: 'granting', best, rest, untilMs: turn.nowMs + 2 * turn.rules.answerTimeoutMs } });
}

function onGrant(turn: Turn, from: string): void {
  if (!vouch(turn, from) && turn.mayLead) leadAndTell(turn);
}
