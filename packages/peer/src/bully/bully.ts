/**
 * The highest-ranked live member wins. (Bully: Garcia-Molina, "Elections in a distributed computing
 * system", IEEE Transactions on Computers, 1982. Modified bully: Kordafshari et al., 2005. The
 * member that notices the failure collects the answers and informs the best member, so that the
 * members ranked between them start no elections of their own.)
 *
 * Best effort: under a partition, each part of the group elects a leader. A member with precedence
 * over the leader that it hears takes over from it. Recent failures count before the rank:
 * otherwise a highest-ranked member that fails repeatedly would take over each time it restarts.
 * From its second recent failure on, a member ranks below all members with fewer failures.
 */

import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { begin, onMessage, onTimeout } from './election.ts';
import { resolveBullyRules, type BullyOptions } from './options.ts';

/**
 * Creates the algorithm. All members of a group must use the same options.
 * @throws `INVALID_OPTION`, or `INVALID_NAME` for a member id.
 */
export function bully(options: BullyOptions): BestEffortAlgorithm {
  const { forgiveMs, ...rules } = resolveBullyRules('bully', options, []);
  return bestEffort(
    'bully',
    procedureOf(rules, { messageTypes: ['election', 'grant'], preempts: true, forgiveMs, begin, onMessage, onTimeout }),
  );
}
