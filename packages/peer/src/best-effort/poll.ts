/** Asks members whether they are alive. The bully and the candidate/ordinary algorithms use it. */

import type { MessageOf } from './message.ts';
import { inOrder, type Precedence } from './rank.ts';
import type { Answer, Election } from './state.ts';
import type { StepContext } from './step-context.ts';

export type Asking = Extract<Election, { kind: 'asking' }>;

/** Asks these members, and waits for their answers for at most the answer timeout. */
export function ask(step: StepContext, asked: readonly string[], type: 'election' | 'poll'): void {
  step.set({ election: { kind: 'asking', asked, answers: [], untilMs: step.nowMs + step.rules.answerTimeoutMs } });
  step.multicast(asked, { type, round: step.state.round });
}

/**
 * Records an answer. Returns the finished poll once all members have answered, and undefined
 * before.
 */
export function onAnswer(step: StepContext, from: string, { standing, weight }: MessageOf<'alive'>): Asking | undefined {
  const { election } = step.state;
  if (election?.kind !== 'asking' || !election.asked.includes(from)) return undefined;
  const given: Answer = { id: from, standing, weight: Math.min(weight, step.precedenceOf(from).weight) };
  const asking = { ...election, answers: [...election.answers.filter(({ id }) => id !== from), given] };
  step.set({ election: asking });
  return asking.answers.length === asking.asked.length ? asking : undefined;
}

/** The members that could lead, the best first: those that campaign, this member included. */
export function electable(step: StepContext, { answers }: Asking): readonly string[] {
  const all: readonly Precedence[] = [...answers.filter(({ standing }) => standing), ...(step.mayLead ? [step.own] : [])];
  return inOrder(step.rules, all).map(({ id }) => id);
}

/** Tells the member that asks that this member is alive. */
export function answer(step: StepContext, to: string): void {
  step.send(to, { type: 'alive', round: step.state.round, standing: step.mayLead, weight: step.own.weight });
}
