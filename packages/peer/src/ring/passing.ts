/** How a token gets from one member of the ring to the next that is alive: whoever does not acknowledge it is skipped. */

import type { Say } from '../best-effort/message.ts';
import type { BestEffortState, Passing } from '../best-effort/state.ts';
import type { Turn } from '../best-effort/turn.ts';

export type Token = Say<'collect'> | Say<'announce'>;

/** To the next member of the ring. */
export function passOn(turn: Turn, token: Token): void {
  passTo(turn, token, nextOf(turn, turn.id));
}

/** Those that have not acknowledged in time are skipped. `onReturn`: all others were, and the token is back. */
export function passOnLate(turn: Turn, onReturn: (token: Token) => void): void {
  const late = turn.state.passing.filter(({ untilMs }) => turn.nowMs >= untilMs);
  turn.set({ passing: turn.state.passing.filter((one) => !late.includes(one)) });
  for (const { token, to } of late) {
    const next = nextOf(turn, to);
    if (next === turn.id) onReturn(token);
    else passTo(turn, token, next);
  }
}

export function passingAtMs({ passing }: BestEffortState): number | undefined {
  return passing.length === 0 ? undefined : Math.min(...passing.map(({ untilMs }) => untilMs));
}

export function onPassed(turn: Turn, from: string, { initiator, attempt, phase }: Say<'passed'>): void {
  const isIt = ({ token, to }: Passing): boolean =>
    to === from && token.initiator === initiator && token.attempt === attempt && token.type === phase;
  turn.set({ passing: turn.state.passing.filter((one) => !isIt(one)) });
}

function passTo(turn: Turn, token: Token, to: string): void {
  turn.send(to, token);
  turn.set({ passing: [...turn.state.passing, { token, to, untilMs: turn.nowMs + turn.rules.answerTimeoutMs }] });
}

function nextOf({ rules: { members, ranks } }: Turn, id: string): string {
  return members.at((ranks.get(id) ?? 0) - 1) ?? id;
}
