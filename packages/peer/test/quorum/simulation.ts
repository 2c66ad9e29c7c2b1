/** The simulation of the quorum algorithm. */

import { faultsOf, usual } from '../simulation/draw.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { planOf } from './plan.ts';
import { QuorumWorld } from './world.ts';

export const quorumSimulation: Simulation = {
  name: 'quorum',
  claim: 'one isValid, terms rise, no vote is forgotten, and a majority elects',
  always: [
    ...[
      'elected',
      'returned',
      'write unacknowledged',
      'sent vote by handover',
      'sent stale',
      'resigned from an older term',
      'refused voteAnswer',
      'refused preVoteAnswer',
    ],
    ...['deadline', 'termBehind', 'resigned', 'handover'].map((reason) => `ended ${reason}`),
    ...faultsOf(usual),
  ],
  seldom: ['write lost', 'write failed', 'failed notWritten', 'ended newerTerm', 'ended clockJump'],
  run: (seed, note) => new QuorumWorld(planOf(seed), note).run(),
};
