/** The simulation of the emergent algorithm. */

import { faultsOf } from '../simulation/draw.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { kinds, planOf } from './plan.ts';
import { EmergentWorld } from './world.ts';

export const emergentSimulation: Simulation = {
  name: 'emergent',
  claim: 'in calm there is one coordinator, all have its list, and it stays as it is',
  always: [
    ...['elected', 'two valid leaders', 'joined', 'left', 'changed', 'failed joinFailed', 'founded again'],
    ...['deadline', 'resigned', 'handover', 'merged', 'notEnoughMembers', 'memberClosed'].map((reason) => `ended ${reason}`),
    ...['join', 'waiting', 'seek', 'update', 'ack', 'heartbeat', 'pull', 'current', 'removed', 'missed', 'ask', 'answer'].map(
      (type) => `sent ${type}`,
    ),
    ...['probe', 'invite', 'merge', 'leave'].map((type) => `sent ${type}`),
    ...faultsOf(kinds),
  ],
  seldom: ['ended clockJump'],
  run: (seed, note) => new EmergentWorld(planOf(seed), note).run(),
};
