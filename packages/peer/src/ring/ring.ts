/**
 * The members form a ring. A first token collects the live members, a second one announces the
 * leader. (Ring: Chang and Roberts, "An improved algorithm for decentralized extrema-finding in
 * circular configurations of processes", Communications of the ACM, 1979. Collecting the set of
 * live members and skipping failed ones: Petrov, "Database Internals", 2019, chapter 10.) Each
 * member sends to the one just before it in `members`, and the first sends to the last.
 *
 * Best effort: under a partition, each part of the group closes a ring of its own and elects a
 * leader. A better member that returns follows the current leader. When two leaders meet, the
 * better one stays leader.
 */

import { checkOneOf } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { resolveRules, type BestEffortOptions } from '../best-effort/options.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { begin, onReturn, onTimeout, ringMessages, type RingVariant } from './circuit.ts';
import { passOnLate, passingAtMs } from './passing.ts';

/** The options of `ring`, on which all members must agree. */
export interface RingOptions extends BestEffortOptions {
  /** Default: `live-set`. */
  readonly variant?: RingVariant | undefined;
}

/**
 * Creates the algorithm. All members of a group must use the same options.
 * @throws `INVALID_OPTION`, or `INVALID_NAME` for a member id.
 */
export function ring(options: RingOptions): BestEffortAlgorithm {
  const rules = resolveRules('ring', options, ['variant']);
  const variant = checkOneOf('variant', options.variant, 'live-set', ['live-set', 'maximum']);
  const own = procedureOf(
    { ...rules, configuration: `${rules.configuration}, ${variant}` },
    { messageTypes: ['collect', 'announce', 'passed'], begin, onTimeout, onMessage: ringMessages(variant), attendAtMs: passingAtMs },
  );
  return bestEffort('ring', {
    ...own,
    attend: (step) => {
      own.attend(step);
      passOnLate(step, (token) => onReturn(step, token));
    },
  });
}
