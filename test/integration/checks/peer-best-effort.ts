/** Best-effort elections in simulated worlds: a check for each algorithm. */

import { names, type Name } from '../../../packages/peer/test/best-effort/algorithms.ts';
import type { Check } from './check.ts';
import { peerWorlds } from './peer-worlds.ts';
import { SEEDS } from './simulation.ts';

const RUNS = 100;

function bestEffort(name: Name): Check {
  return peerWorlds(name, {
    name: `peer-${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    claim: `${RUNS * SEEDS} worlds of members that elect by \`${name}\`, in which everything goes wrong, end in calm with exactly one leader that all see.`,
    method:
      'One to seven members, over the driver that runs in production; all checks of packages/peer/test/best-effort: within a bound one leads and all see it, after the storm, after a crash of the leader, when it is back, and after it has ' +
      'resigned or handed over; an undisturbed leader stays, or the best takes over where the algorithm says so; only who stands, and may, is elected; a process that stood still is not valid. Every fault must have happened in each run, and ' +
      'two must have considered themselves leader at once: that is what best effort allows. recoveredAfter: from calm to a leader that all see, failedOverAfter: from its crash to the next, in failure timeouts.',
    runs: RUNS,
  });
}

export const peerBestEffort: readonly Check[] = names.map(bestEffort);
