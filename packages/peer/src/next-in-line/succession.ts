/** Finds the next leader among the successors that the failed leader has named. */

import { answerWithLeader } from '../best-effort/detector.ts';
import { leadAndAnnounce } from '../best-effort/leader.ts';
import type { OwnMessage, MessageOf } from '../best-effort/message.ts';
import { answer } from '../best-effort/poll.ts';
import type { StepContext } from '../best-effort/step-context.ts';
import * as bully from '../bully/election.ts';

/** Asks the first successor that the leader has named. */
export function begin(step: StepContext): void {
  const { lost } = step.state;
  callOn(step, lost?.successors ?? []);
}

export function onMessage(step: StepContext, from: string, message: OwnMessage | MessageOf<'alive'>): void {
  const { election } = step.state;
  if (message.type === 'takeOver') onTakeOver(step, from);
  else if (message.type !== 'alive' || election?.kind !== 'line') bully.onMessage(step, from, message);
  else if (election.asked === from && message.standing)
    step.set({ election: { ...election, untilMs: step.nowMs + 2 * step.rules.answerTimeoutMs } });
  else if (election.asked === from) callOn(step, election.rest);
}

/**
 * Asks the next successor, because the last one has not answered, or has not announced that it
 * leads.
 */
export function onTimeout(step: StepContext): void {
  const { election } = step.state;
  if (election?.kind === 'line') callOn(step, election.rest);
  else bully.onTimeout(step);
}

function callOn(step: StepContext, [first, ...rest]: readonly string[]): void {
  if (first === undefined) return bully.begin(step);
  if (first !== step.id) {
    step.send(first, { type: 'takeOver', round: step.state.round });
    return step.set({ election: { kind: 'line', asked: first, rest, untilMs: step.nowMs + step.rules.answerTimeoutMs } });
  }
  return step.mayLead ? leadAndAnnounce(step) : callOn(step, rest);
}

function onTakeOver(step: StepContext, from: string): void {
  if (answerWithLeader(step, from)) return;
  answer(step, from);
  if (step.mayLead) leadAndAnnounce(step);
}
