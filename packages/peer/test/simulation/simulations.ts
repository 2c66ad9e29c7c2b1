/** All simulations of members without a store, by name. */

import { bestEffortSimulations } from '../best-effort/simulation.ts';
import { emergentSimulation } from '../emergent/simulation.ts';
import { quorumSimulation } from '../quorum/simulation.ts';
import type { Simulation } from './simulation.ts';

export const simulations: readonly Simulation[] = [quorumSimulation, ...bestEffortSimulations, emergentSimulation];

/** Throws a `RangeError` that lists all names. */
export function simulationOf(name: string): Simulation {
  const found = simulations.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new RangeError(`no simulation ${JSON.stringify(name)}: one of ${simulations.map((one) => one.name).join(', ')}`);
}
