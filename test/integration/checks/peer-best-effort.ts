/** Elections by best effort, in worlds by seed: a check for each algorithm. */

import { availableParallelism } from 'node:os';
import { names, type Name } from '../../../packages/peer/test/best-effort/algorithms.ts';
import type { PeerSummary } from '../simulation/peer-worker.ts';
import { PEER_WORLDS, Workers, type PeerSeeds } from '../simulation/workers.ts';
import type { Check } from './check.ts';
import { methodOf, SEEDS } from './simulation.ts';

const RUNS = 100;

function bestEffort(name: Name): Check {
  return {
    name: `peer-${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    claim: `${RUNS * SEEDS} worlds of members that elect by \`${name}\`, in which everything goes wrong, end in calm with exactly one leader that all see.`,
    method: methodOf(
      'One to seven members, over the driver that runs in production; all checks of packages/peer/test/best-effort: within a bound one leads and all see it, after the storm, after a crash of the leader, when it is back, and after it has ' +
        'resigned or handed over; an undisturbed leader stays, or the best takes over where the algorithm says so; only who stands, and may, is elected; who stood still does not believe. Every fault must have happened in each run, and ' +
        'two must have believed at once: that is what best effort allows. recoveredAfter: from calm to a leader that all see, in failure timeouts. ' +
        `Again: node --conditions=@incumbent/source packages/peer/test/best-effort/batch.ts ${name} --tell SEED.`,
    ),
    runs: RUNS,
    parallel: availableParallelism(),
    open: async () => {
      const workers = new Workers<PeerSeeds, PeerSummary>(PEER_WORLDS);
      return {
        run: async (index, { seed }) => {
          const { worlds, problems, ...figures } = await workers.run({ on: name, start: seed + index * SEEDS, count: SEEDS });
          if (problems.length > 0) throw new Error(problems.join('\n'));
          return { figures: { seeds: worlds, ...figures } };
        },
        [Symbol.asyncDispose]: async () => workers[Symbol.asyncDispose](),
      };
    },
  };
}

export const peerBestEffort: readonly Check[] = names.map(bestEffort);
