/**
 * The highest rank wins. (Bully: Garcia-Molina, "Elections in a distributed computing system", IEEE
 * Transactions on Computers, 1982; in its modified form, Kordafshari et al., 2005, in which whoever
 * notices collects the answers and tells the best, so that the ranks between do not begin elections
 * of their own.)
 *
 * By best effort: each part of a group that is divided has a leader. A member that goes before the
 * leader it hears takes over from it. So that one which fails again and again does not do so each
 * time that it comes back, failures count before the rank: from the second one within a while, it
 * goes behind all that have failed less.
 */

import { bestEffort, type BestEffortAlgorithm } from '../best-effort/best-effort.ts';
import { procedureOf } from '../best-effort/procedure.ts';
import { begin, onMessage, onTimeout } from './election.ts';
import { resolveBullyRules, type BullyOptions } from './options.ts';

/** The same for all members of a group. */
export function bully(options: BullyOptions): BestEffortAlgorithm {
  const { forgiveMs, ...rules } = resolveBullyRules('bully', options, []);
  return bestEffort('bully', procedureOf(rules, { speaks: ['election', 'grant'], preempts: true, forgiveMs, begin, onMessage, onTimeout }));
}
