/**
 * Asking members whether they are there: in the bully's election, and in that of ordinary members.
 */

import type { Say } from './message.ts';
import { inOrder, type Standing } from './rank.ts';
import type { Answer, Election } from './state.ts';
import type { StepContext } from './step-context.ts';

export type Asking = Extract<Election, { kind: 'asking' }>;

/** Waits for their answers for the answer timeout at most. */
export function ask(step: StepContext, asked: readonly string[], type: 'election' | 'poll'): void {
  step.set({ election: { kind: 'asking', asked, answers: [], untilMs: step.nowMs + step.rules.answerTimeoutMs } });
  step.tell(asked, { type, round: step.state.round });
}

/** Undefined as long as others are waited for. */
export function onAnswer(step: StepContext, from: string, { standing, weight }: Say<'alive'>): Asking | undefined {
  const { election } = step.state;
  if (election?.kind !== 'asking' || !election.asked.includes(from)) return undefined;
  const given: Answer = { id: from, standing, weight: Math.min(weight, step.standingOf(from).weight) };
  const asking = { ...election, answers: [...election.answers.filter(({ id }) => id !== from), given] };
  step.set({ election: asking });
  return asking.answers.length === asking.asked.length ? asking : undefined;
}

/** Those that would lead, the best first; itself among them, if it would. */
export function electable(step: StepContext, { answers }: Asking): readonly string[] {
  const all: readonly Standing[] = [...answers.filter(({ standing }) => standing), ...(step.mayLead ? [step.own] : [])];
  return inOrder(step.rules, all).map(({ id }) => id);
}

/** Says to who asks that it is there. */
export function answer(step: StepContext, to: string): void {
  step.send(to, { type: 'alive', round: step.state.round, standing: step.mayLead, weight: step.own.weight });
}
