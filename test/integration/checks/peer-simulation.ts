/** Members without a store, in worlds by seed. */

import { availableParallelism } from 'node:os';
import type { PeerSummary } from '../simulation/peer-worker.ts';
import { PEER_WORLDS, Workers, type Seeds } from '../simulation/workers.ts';
import type { Check } from './check.ts';
import { methodOf, SEEDS } from './simulation.ts';

const RUNS = 1_000;

export const peerSimulation: Check = {
  name: 'peer-simulation',
  claim: `${RUNS * SEEDS} worlds of members that elect among themselves, in which everything goes wrong, break no promise.`,
  method: methodOf(
    'One to seven members, over the driver that runs in production; all checks of packages/peer/test/simulation: at no instant two believe, one leader a term, no vote is forgotten, terms rise, the leader has the data, ' +
      'a majority elects within a bound, and who returns disturbs nobody; and every fault must have happened in each run. recoveredAfter: from calm to a leader that all see, in longest election timeouts. ' +
      'Again: node --conditions=@incumbent/source packages/peer/test/simulation/batch.ts --tell SEED.',
  ),
  runs: RUNS,
  parallel: availableParallelism(),
  open: async () => {
    const workers = new Workers<Seeds, PeerSummary>(PEER_WORLDS);
    return {
      run: async (index, { seed }) => {
        const { worlds, problems, ...figures } = await workers.run({ start: seed + index * SEEDS, count: SEEDS });
        if (problems.length > 0) throw new Error(problems.join('\n'));
        return { figures: { seeds: worlds, ...figures } };
      },
      [Symbol.asyncDispose]: async () => workers[Symbol.asyncDispose](),
    };
  },
};
