/** Who follows a leader that has named its successors. */

import { vouch } from '../best-effort/detector.ts';
import { leadAndTell } from '../best-effort/leader.ts';
import type { OwnMessage, Say } from '../best-effort/message.ts';
import { answer } from '../best-effort/poll.ts';
import type { Turn } from '../best-effort/turn.ts';
import * as bully from '../bully/election.ts';

/** Asks the first of those that the leader had named. */
export function begin(turn: Turn): void {
  const { lost } = turn.state;
  callOn(turn, lost?.successors ?? []);
}

export function onMessage(turn: Turn, from: string, message: OwnMessage | Say<'alive'>): void {
  const { election } = turn.state;
  if (message.type === 'takeOver') onTakeOver(turn, from);
  else if (message.type !== 'alive' || election?.kind !== 'line') bully.onMessage(turn, from, message);
  else if (election.asked === from && message.standing)
    turn.set({ election: { ...election, untilMs: turn.nowMs + 2 * turn.rules.answerTimeoutMs } });
  else if (election.asked === from) callOn(turn, election.rest);
}

/** It is not there, or has not said that it leads: the next one. */
export function onTimeout(turn: Turn): void {
  const { election } = turn.state;
  if (election?.kind === 'line') callOn(turn, election.rest);
  else bully.onTimeout(turn);
}

function callOn(turn: Turn, [first, ...rest]: readonly string[]): void {
  if (first === undefined) return bully.begin(turn);
  if (first !== turn.id) {
    turn.send(first, { type: 'takeOver', round: turn.state.round });
    return turn.set({ election: { kind: 'line', asked: first, rest, untilMs: turn.nowMs + turn.rules.answerTimeoutMs } });
  }
  return turn.mayLead ? leadAndTell(turn) : callOn(turn, rest);
}

function onTakeOver(turn: Turn, from: string): void {
  if (vouch(turn, from)) return;
  answer(turn, from);
  if (turn.mayLead) leadAndTell(turn);
}
