/** The simulation of each best-effort algorithm. */

import { faultsOf, usual } from '../simulation/draw.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { names, type Name } from './algorithms.ts';
import { planOf } from './plan.ts';
import { BestEffortWorld } from './world.ts';

const own: Readonly<Record<Name, readonly string[]>> = {
  bully: ['election', 'alive', 'grant', 'elected'],
  nextInLine: ['takeOver', 'election', 'alive', 'grant', 'elected'],
  candidateOrdinary: ['poll', 'alive', 'elected'],
  invitation: ['invite', 'accept', 'redirect', 'moved'],
  ring: ['collect', 'announce', 'passed'],
};

export const bestEffortSimulations: readonly Simulation[] = names.map((name) => ({
  name,
  claim: 'in a connected, quiet group one leads and all see it, whatever happened before',
  always: [
    ...['elected', 'two valid leaders', 'farewell by resigning', 'farewell by handing over'],
    ...['heartbeat', 'heartbeatAnswer', 'resigned', 'handover', ...own[name]].map((type) => `sent ${type}`),
    ...['deadline', 'superseded', 'resigned', 'handover'].map((reason) => `ended ${reason}`),
    ...faultsOf(usual),
  ],
  seldom: [],
  run: (seed, note) => new BestEffortWorld(planOf(name, seed), note).run(),
}));
