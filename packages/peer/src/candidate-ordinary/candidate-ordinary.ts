/**
 * A few candidates, of which one leads, and ordinary members, which see to it. (Candidate/ordinary:
 * Murshed and Allen, "Enhanced bully algorithm for leader node election in synchronous distributed
 * systems", Computers, 2012.) Whoever notices that the leader is dead waits for a while of its own,
 * then asks the candidates, chooses the best of those that answer, and tells all. The whiles differ
 * by more than an election takes, so mostly one member does it, and the others hear of it.
 *
 * By best effort: each part of a group that is divided, and has a candidate in it, has a leader; a
 * part that has none has none. A better candidate that comes back follows whoever leads; but where
 * two leaders meet, the better one stays.
 */

import { checkNumber, invalidOption, invalidText } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { resolveRules, type BestEffortOptions } from '../best-effort/options.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { checkMembers } from '../members.ts';
import { pollOf } from './polling.ts';

export interface CandidateOrdinaryOptions extends BestEffortOptions {
  /**
   * Who may be elected: some of the members. The others are ordinary: they may campaign, and wait
   * in vain.
   */
  readonly candidates: readonly string[];
  /**
   * By how much longer than the one before it a member waits with an election, in ms: ordinary ones
   * by rank, then the candidates. Longer than the answer timeout, so that an election is over
   * before the next one would begin; at most ten times it. Default 1.5 times.
   */
  readonly delayStepMs?: number;
}

/** The same for all members of a group. */
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
        speaks: ['poll'],
        isEligible: (id) => candidates.includes(id),
        delayMs: ({ id }) => order.indexOf(id) * delayStepMs,
        ...pollOf(candidates),
      },
    ),
  );
}
