/** Asks the candidates, chooses the leader, and informs all members. */

import { follow, abandonElection, answerWithLeader } from '../best-effort/detector.ts';
import { leadAndAnnounce } from '../best-effort/leader.ts';
import { nextRound } from '../best-effort/message.ts';
import { answer, ask, electable, onAnswer, type Asking } from '../best-effort/poll.ts';
import type { Procedure, StepContext } from '../best-effort/step-context.ts';

export function pollOf(candidates: readonly string[]): Pick<Procedure, 'begin' | 'onMessage' | 'onTimeout'> {
  return {
    /** Asks all candidates except the leader that has just failed. */
    begin: (step) => {
      const asked = candidates.filter((id) => id !== step.id && id !== step.state.lost?.id);
      step.set({ lost: undefined });
      if (asked.length > 0) ask(step, asked, 'poll');
      else choose(step, { kind: 'asking', asked, answers: [], untilMs: step.nowMs });
    },
    onMessage: (step, from, message) => {
      if (message.type === 'poll') return onPoll(step, from);
      const asking = message.type === 'alive' ? onAnswer(step, from, message) : undefined;
      return asking === undefined ? undefined : choose(step, asking);
    },
    onTimeout: (step) => {
      const { election } = step.state;
      if (election?.kind === 'asking') choose(step, election);
    },
  };
}

function onPoll(step: StepContext, from: string): void {
  if (!answerWithLeader(step, from)) answer(step, from);
}

/** Makes the best candidate the leader, and informs all members, the new leader included. */
function choose(step: StepContext, asking: Asking): void {
  const [best] = electable(step, asking);
  if (best === undefined) return abandonElection(step);
  if (best === step.id) return leadAndAnnounce(step);
  const round = nextRound(step.state.round);
  step.set({ round, election: undefined });
  step.broadcast({ type: 'elected', round, leader: best, weight: 0 });
  return follow(step, { id: best, round, weight: 0, atMs: step.nowMs, byItself: false, successors: [] });
}
