/** Members that vote, in simulated worlds. */

import type { Check } from './check.ts';
import { peerWorlds } from './peer-worlds.ts';
import { SEEDS } from './simulation.ts';

const RUNS = 1_000;

export const peerSimulation: Check = peerWorlds('quorum', {
  name: 'peer-simulation',
  claim: `${RUNS * SEEDS} worlds of members that elect among themselves, in which everything goes wrong, break no promise.`,
  method:
    'One to seven members, over the driver that runs in production; all checks of packages/peer/test/quorum: at no instant two consider themselves leader, one leader a term, no vote is forgotten, terms rise, the leader has the data, ' +
    'a majority elects within a bound, and who returns disturbs nobody; and every fault must have happened in each run. recoveredAfter: from calm to a leader that all see, failedOverAfter: from its crash to the ' +
    'next, in longest election timeouts.',
  runs: RUNS,
});
