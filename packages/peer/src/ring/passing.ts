/**
 * Forwards a token to the next live member of the ring. A member that does not acknowledge the
 * token is skipped.
 */

import type { MessageOf } from '../best-effort/message.ts';
import type { BestEffortState, Passing } from '../best-effort/state.ts';
import type { StepContext } from '../best-effort/step-context.ts';

export type Token = MessageOf<'collect'> | MessageOf<'announce'>;

/** Sends the token to the next member of the ring. */
export function passToken(step: StepContext, token: Token): void {
  passTo(step, token, nextOf(step, step.id));
}

/**
 * Skips the members that have not acknowledged a token in time. Calls `onReturn` if all other
 * members were skipped, so that the token is back at this one.
 */
export function passOnLate(step: StepContext, onReturn: (token: Token) => void): void {
  const late = step.state.passing.filter(({ untilMs }) => step.nowMs >= untilMs);
  step.set({ passing: step.state.passing.filter((one) => !late.includes(one)) });
  for (const { token, to } of late) {
    const next = nextOf(step, to);
    if (next === step.id) onReturn(token);
    else passTo(step, token, next);
  }
}

export function passingAtMs({ passing }: BestEffortState): number | undefined {
  return passing.length === 0 ? undefined : Math.min(...passing.map(({ untilMs }) => untilMs));
}

export function onPassed(step: StepContext, from: string, { initiator, attempt, phase }: MessageOf<'passed'>): void {
  const isIt = ({ token, to }: Passing): boolean =>
    to === from && token.initiator === initiator && token.attempt === attempt && token.type === phase;
  step.set({ passing: step.state.passing.filter((one) => !isIt(one)) });
}

function passTo(step: StepContext, token: Token, to: string): void {
  step.send(to, token);
  step.set({ passing: [...step.state.passing, { token, to, untilMs: step.nowMs + step.rules.answerTimeoutMs }] });
}

function nextOf({ rules: { members, ranks } }: StepContext, id: string): string {
  return members.at((ranks.get(id) ?? 0) - 1) ?? id;
}
