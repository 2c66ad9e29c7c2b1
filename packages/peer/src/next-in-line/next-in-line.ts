/**
 * The leader names its successors in its heartbeats. When it fails, the first live successor takes
 * over at once, without an election. (Gholipour et al., "A new approach for election algorithm in
 * distributed systems", 2009.) If no successor is alive, or the leader named none, the members hold
 * a bully election.
 *
 * Best effort: under a partition, each part of the group elects a leader. A better member that
 * returns follows the current leader. When two leaders meet, the one with precedence in the bully's
 * order stays leader; recent failures count before the rank.
 */

import { checkNumber } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { resolveBullyRules, type BullyOptions } from '../bully/options.ts';
import { begin, onMessage, onTimeout } from './succession.ts';

/** The options of `nextInLine`, on which all members must agree. */
export interface NextInLineOptions extends BullyOptions {
  /**
   * How many successors a leader names, the best first. Only members that campaign and have
   * answered lately are named. 1 to 16. Default: 3.
   */
  readonly successors?: number | undefined;
}

/**
 * Creates the algorithm. All members of a group must use the same options.
 * @throws `INVALID_OPTION`, or `INVALID_NAME` for a member id.
 */
export function nextInLine(options: NextInLineOptions): BestEffortAlgorithm {
  const { forgiveMs, ...rules } = resolveBullyRules('nextInLine', options, ['successors']);
  const successors = checkNumber('successors', options.successors, 3, { min: 1, max: 16 });
  const messageTypes = ['election', 'grant', 'takeOver'] as const;
  return bestEffort('nextInLine', procedureOf(rules, { messageTypes, forgiveMs, successors, begin, onMessage, onTimeout }));
}
