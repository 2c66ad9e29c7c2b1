/**
 * Members form a ring, and a message goes around it twice: who is there, and who leads. (Ring:
 * Chang and Roberts, "An improved algorithm for decentralized extrema-finding in circular
 * configurations of processes", Communications of the ACM, 1979; that the set of those that are
 * there is collected, and dead ones are skipped, as Petrov tells it, "Database Internals", 2019,
 * chapter 10.) Each passes on to the one just before it in the list of members, the best one to the
 * last.
 *
 * By best effort: each part of a group that is divided closes a ring of its own, and has a leader.
 * A better member that comes back follows whoever leads; but where two leaders meet, the better one
 * stays.
 */

import { checkOneOf } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { resolveRules, type BestEffortOptions } from '../best-effort/options.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { begin, onReturn, onTimeout, ringMessages, type RingVariant } from './circuit.ts';
import { passOnLate, passingAtMs } from './passing.ts';

export interface RingOptions extends BestEffortOptions {
  /** Default `live-set`. */
  readonly variant?: RingVariant;
}

/** The same for all members of a group. */
export function ring(options: RingOptions): BestEffortAlgorithm {
  const rules = resolveRules('ring', options, ['variant']);
  const variant = checkOneOf('variant', options.variant, 'live-set', ['live-set', 'maximum']);
  const own = procedureOf(
    { ...rules, configuration: `${rules.configuration}, ${variant}` },
    { speaks: ['collect', 'announce', 'passed'], begin, onTimeout, onMessage: ringMessages(variant), attendAtMs: passingAtMs },
  );
  return bestEffort('ring', {
    ...own,
    attend: (step) => {
      own.attend(step);
      passOnLate(step, (token) => onReturn(step, token));
    },
  });
}
