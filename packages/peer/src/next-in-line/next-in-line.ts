/**
 * The leader names its successors; the first of them that is alive takes over at once, without an
 * election. (Gholipour et al., "A new approach for election algorithm in distributed systems",
 * 2009.) Where none of them is, or none had been named, the bully's election follows.
 *
 * By best effort: each part of a group that is divided has a leader. A better member that comes
 * back follows whoever leads; but where two leaders meet, the one that goes before the other stays,
 * in the bully's order, failures included.
 */

import { checkNumber } from '@incumbent/core/adapter';
import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { resolveBullyRules, type BullyOptions } from '../bully/options.ts';
import { begin, onMessage, onTimeout } from './succession.ts';

export interface NextInLineOptions extends BullyOptions {
  /**
   * How many successors a leader names, of those that would lead and have answered lately, the best
   * first. From 1 to 16. Default 3.
   */
  readonly successors?: number;
}

/** The same for all members of a group. */
export function nextInLine(options: NextInLineOptions): BestEffortAlgorithm {
  const { forgiveMs, ...rules } = resolveBullyRules('nextInLine', options, ['successors']);
  const successors = checkNumber('successors', options.successors, 3, { min: 1, max: 16 });
  const speaks = ['election', 'grant', 'takeOver'] as const;
  return bestEffort('nextInLine', procedureOf(rules, { speaks, forgiveMs, successors, begin, onMessage, onTimeout }));
}
