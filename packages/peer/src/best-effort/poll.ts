/** Asking members whether they are there: in the bully's election, and in that of ordinary members. */

import type { Say } from './message.ts';
import { inOrder, type Standing } from './rank.ts';
import type { Answer, Election } from './state.ts';
import type { Turn } from './turn.ts';

export type Asking = Extract<Election, { kind: 'asking' }>;

/** Waits for their answers for the answer timeout at most. */
export function ask(turn: Turn, asked: readonly string[], type: 'election' | 'poll'): void {
  turn.set({ election: { kind: 'asking', asked, answers: [], untilMs: turn.nowMs + turn.rules.answerTimeoutMs } });
  turn.tell(asked, { type, round: turn.state.round });
}

/** Undefined as long as others are waited for. */
export function onAnswer(turn: Turn, from: string, { standing, weight }: Say<'alive'>): Asking | undefined {
  const { election } = turn.state;
  if (election?.kind !== 'asking' || !election.asked.includes(from)) return undefined;
  const given: Answer = { id: from, standing, weight: Math.min(weight, turn.standingOf(from).weight) };
  const asking = { ...election, answers: [...election.answers.filter(({ id }) => id !== from), given] };
  turn.set({ election: asking });
  return asking.answers.length === asking.asked.length ? asking : undefined;
}

/** Those that would lead, the best first; itself among them, if it would. */
export function electable(turn: Turn, { answers }: Asking): readonly string[] {
  const all: readonly Standing[] = [...answers.filter(({ standing }) => standing), ...(turn.mayLead ? [turn.own] : [])];
  return inOrder(turn.rules, all).map(({ id }) => id);
}

/** Says to who asks that it is there. */
export function answer(turn: Turn, to: string): void {
  turn.send(to, { type: 'alive', round: turn.state.round, standing: turn.mayLead, weight: turn.own.weight });
}
