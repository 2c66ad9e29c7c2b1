/** Bugs that somebody might make in the elections by best effort, each hunted in the worlds of one of them. */

import type { Name } from '../best-effort/algorithms.ts';
import { bug, type Bug } from './bugs.ts';

function on(name: Name, ...args: Parameters<typeof bug>): Bug {
  return { ...bug(...args), on: name };
}

export const bestEffortBugs: readonly Bug[] = [
  on(
    'bully',
    'believesTooLong',
    'a leader that stands still believes on',
    'best-effort/leader.ts',
    'forMs: beliefMs,',
    'forMs: 9 * beliefMs,',
  ),
  on('bully', 'noTakeover', 'the best one follows whoever leads', 'bully/bully.ts', 'preempts: true', 'preempts: false'),
  on(
    'bully',
    'modest',
    'who finds that it is the best itself does not lead',
    'bully/election.ts',
    'if (best === turn.id) return leadAndTell(turn);',
    'if (best === turn.id) return giveUpElection(turn);',
  ),
  on(
    'candidateOrdinary',
    'lateWord',
    'what a leader said before it gave up is heard after it',
    'best-effort/detector.ts',
    'id === claim.id && round >= claim.round',
    'id === claim.id && round > claim.round',
  ),
  on(
    'bully',
    'anybody',
    'who does not stand is elected',
    'best-effort/turn.ts',
    'return this.state.standing && !this.state.standsBack &&',
    'return !this.state.standsBack &&',
  ),
  on(
    'nextInLine',
    'stubborn',
    'of two leaders that meet neither stays behind',
    'best-effort/detector.ts',
    "end(turn, 'superseded');",
    'return;',
  ),
  on(
    'nextInLine',
    'lastInLine',
    'the last of the successors is called on, not the first',
    'next-in-line/succession.ts',
    'callOn(turn, lost?.successors ?? []);',
    'callOn(turn, lost?.successors.toReversed() ?? []);',
  ),
  on(
    'nextInLine',
    'namesWorst',
    'a leader names the worst of those that are there',
    'best-effort/leader.ts',
    'successorsOf(turn.how, turn.state).slice(0,',
    'successorsOf(turn.how, turn.state).toReversed().slice(0,',
  ),
  on(
    'candidateOrdinary',
    'ordinaryLeads',
    'an ordinary member is elected',
    'candidate-ordinary/candidate-ordinary.ts',
    'isEligible: (id) => candidates.includes(id)',
    'isEligible: (id) => order.includes(id)',
  ),
  on(
    'candidateOrdinary',
    'worst',
    'the worst of the candidates is chosen',
    'candidate-ordinary/polling.ts',
    'const [best] = electable(turn, asking);',
    'const best = electable(turn, asking).at(-1);',
  ),
  on(
    'candidateOrdinary',
    'oldOffice',
    'who is elected by a word of before leads again',
    'best-effort/detector.ts',
    'if (round <= turn.state.ledRound) return;',
    'if (round < 0) return;',
  ),
  on(
    'invitation',
    'neverInvites',
    'groups do not invite each other',
    'invitation/group.ts',
    'if (inviteAtMs !== undefined)\n    turn.tell(',
    'if (inviteAtMs === -1)\n    turn.tell(',
  ),
  on(
    'invitation',
    'smallerStays',
    'the larger group joins the smaller one',
    'invitation/merge.ts',
    '!goesBefore(turn.rules, { id: from',
    'goesBefore(turn.rules, { id: from',
  ),
  on('invitation', 'leadsOn', 'a leader whose group joins another leads on', 'invitation/merge.ts', "  end(turn, 'superseded');\n", ''),
  on(
    'ring',
    'noSkip',
    'a dead successor is not skipped',
    'ring/passing.ts',
    'else passTo(turn, token, next);',
    'else passTo(turn, token, to);',
  ),
  on(
    'ring',
    'passesOnly',
    'who passes the token on is not in it',
    'ring/circuit.ts',
    'const known = turn.mayLead && !live.includes(turn.id) ?',
    'const known = turn.mayLead && live.includes(turn.id) ?',
  ),
  on(
    'ring',
    'deadForEver',
    'a leader that is not heard leads on',
    'best-effort/detector.ts',
    'nowMs - atMs >= rules.failureTimeoutMs',
    'nowMs - atMs >= 99 * rules.failureTimeoutMs',
  ),
];
