/** Members that come and go, where the oldest leads, in simulated worlds. */

import type { CrowdSummary } from '../simulation/crowd-worker.ts';
import { CROWDS, type Seeds } from '../simulation/workers.ts';
import type { Check } from './check.ts';
import { peerWorlds, worldsCheck } from './peer-worlds.ts';
import { SEEDS } from './simulation.ts';

const RUNS = 100;

export const peerEmergent: Check = peerWorlds('emergent', {
  name: 'peer-emergent',
  claim: `${RUNS * SEEDS} worlds of members that come and go, in which everything goes wrong, end in calm with one coordinator and one list.`,
  method:
    'Three to nine members, over the driver that runs in production; all checks of packages/peer/test/emergent: in calm one coordinator, which alone is valid if it stands and they are enough, and ' +
    'one list of all who are up, within 20 failure timeouts; nothing changes where nothing happens; a crashed coordinator is followed; versions and rounds rise; nobody leads too few; no former member gives up; and every fault and every ' +
    'message must have happened in each run. recoveredAfter: from calm until all agree, failedOverAfter: from a crash of the coordinator, in failure timeouts. twoLed: elected while another one ' +
    'valid, which best effort allows.',
  runs: RUNS,
});

const CROWD_SEEDS = 20;
const CROWD_RUNS = 50;

export const peerEmergentHundred: Check = worldsCheck<Seeds, CrowdSummary>(
  {
    name: 'peer-emergent-hundred',
    claim: `A hundred members join, a tenth of them fails, the rest is split in three and merges: one coordinator and one version at the end of each, in ${CROWD_SEEDS * CROWD_RUNS} seeds.`,
    method:
      `Each run is ${CROWD_SEEDS} seeds in a row, the first of run n being the row's seed + ${CROWD_SEEDS} × (n − 1). The driver that runs in production, over the memory transport; heartbeats to 2, 3 or 5 successors. joined, failed, split, ` +
      'merged: how long each phase took at most, in failure timeouts, until each side had one list, and one coordinator that alone was valid.',
    runs: CROWD_RUNS,
  },
  {
    program: CROWDS,
    count: CROWD_SEEDS,
    batchOf: (seeds) => seeds,
    figuresOf: ({ worlds: _, problems: __, ...figures }) => figures,
  },
);
