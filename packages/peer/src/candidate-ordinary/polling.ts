/** How a member finds out which candidate is to lead, and tells all. */

import { follow, giveUpElection, vouch } from '../best-effort/detector.ts';
import { leadAndTell } from '../best-effort/leader.ts';
import { nextRound } from '../best-effort/message.ts';
import { answer, ask, electable, onAnswer, type Asking } from '../best-effort/poll.ts';
import type { Procedure, Turn } from '../best-effort/turn.ts';

export function pollOf(candidates: readonly string[]): Pick<Procedure, 'begin' | 'onMessage' | 'onTimeout'> {
  return {
    /** Asks all candidates but the one that has just died. */
    begin: (turn) => {
      const asked = candidates.filter((id) => id !== turn.id && id !== turn.state.lost?.id);
      turn.set({ lost: undefined });
      if (asked.length > 0) ask(turn, asked, 'poll');
      else choose(turn, { kind: 'asking', asked, answers: [], untilMs: turn.nowMs });
    },
    onMessage: (turn, from, message) => {
      if (message.type === 'poll') return onPoll(turn, from);
      const asking = message.type === 'alive' ? onAnswer(turn, from, message) : undefined;
      return asking === undefined ? undefined : choose(turn, asking);
    },
    onTimeout: (turn) => {
      const { election } = turn.state;
      if (election?.kind === 'asking') choose(turn, election);
    },
  };
}

function onPoll(turn: Turn, from: string): void {
  if (!vouch(turn, from)) answer(turn, from);
}

/** The best one is the leader, and all are told so, itself among them. */
function choose(turn: Turn, asking: Asking): void {
  const [best] = electable(turn, asking);
  if (best === undefined) return giveUpElection(turn);
  if (best === turn.id) return leadAndTell(turn);
  const round = nextRound(turn.state.round);
  turn.set({ round, election: undefined });
  turn.tell(turn.others, { type: 'elected', round, leader: best, weight: 0 });
  return follow(turn, { id: best, round, weight: 0, atMs: turn.nowMs, byItself: false, successors: [] });
}
