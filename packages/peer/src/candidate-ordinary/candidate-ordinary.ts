/**
 * Only candidates can lead; ordinary members can also run elections. (Candidate/ordinary: Murshed
 * and Allen, "Enhanced bully algorithm for leader node election in synchronous distributed
 * systems", Computers, 2012.) A member that notices the leader's failure waits for its own delay.
 * Then it asks the candidates, chooses the best that answers, and informs all members. The delays
 * differ by more than an election takes, so usually only one member runs an election, and the
 * others receive its result.
 *
 * Best effort: under a partition, each part of the group that contains a candidate elects a leader.
 * A part without a candidate has no leader. A better candidate that returns follows the current
 * leader. When two leaders meet, the better one stays leader.
 */

import { checkNumber, invalidOption, invalidText } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { resolveRules, type BestEffortOptions } from '../best-effort/options.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { checkMembers } from '../members.ts';
import { pollOf } from './polling.ts';

/** The options of `candidateOrdinary`, on which all members must agree. */
export interface CandidateOrdinaryOptions extends BestEffortOptions {
  /**
   * The ids of the members that may be elected: at least one of `members`. The other members are
   * ordinary. If an ordinary member campaigns, it is never elected.
   */
  readonly candidates: readonly string[];
  /**
   * The difference between the delays of two members that follow each other, in ms. The delays rise
   * from the best ordinary member to the worst, and then from the best candidate to the worst. The
   * step exceeds `answerTimeoutMs`, so that one election ends before the next begins. 1.1 to 10
   * times `answerTimeoutMs`. Default: 1.5 times.
   */
  readonly delayStepMs?: number | undefined;
}

/**
 * Creates the algorithm. All members of a group must use the same options.
 * @throws `INVALID_OPTION`, or `INVALID_NAME` for a member id.
 */
export function candidateOrdinary(options: CandidateOrdinaryOptions): BestEffortAlgorithm {
  const rules = resolveRules('candidateOrdinary', options, ['candidates', 'delayStepMs']);
  const { members, answerTimeoutMs } = rules;
  if (options.candidates === undefined) throw invalidOption('candidates', options.candidates, 'a list of some of the members');
  const listed = checkMembers(options.candidates, members.length);
  const stranger = listed.find((id) => !rules.ranks.has(id));
  if (stranger !== undefined) throw invalidText('candidates', stranger, `some of the members: ${members.join(', ')}`);
  const delayStepMs = checkNumber('delayStepMs', options.delayStepMs, 1.5 * answerTimeoutMs, {
    min: 1.1 * answerTimeoutMs,
    max: 10 * answerTimeoutMs,
    why: '1.1 to 10 times answerTimeoutMs: two that begin at once disturb each other',
  });
  const candidates = members.filter((id) => listed.includes(id));
  const order = [...members.filter((id) => !listed.includes(id)), ...candidates];
  const configuration = `${rules.configuration}, candidates ${candidates.join(' ')}, step ${delayStepMs} ms`;
  return bestEffort(
    'candidateOrdinary',
    procedureOf(
      { ...rules, configuration },
      {
        messageTypes: ['poll'],
        isEligible: (id) => candidates.includes(id),
        delayMs: ({ id }) => order.indexOf(id) * delayStepMs,
        ...pollOf(candidates),
      },
    ),
  );
}
