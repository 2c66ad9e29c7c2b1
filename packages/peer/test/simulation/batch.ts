/**
 * `node --conditions=@incumbent/source packages/peer/test/simulation/batch.ts ALGORITHM [first]
 * [count]`: runs worlds by seed. Prints how many ran, what happened in them, what did not happen,
 * and each world that broke a promise. With `--tell SEED`: prints one world as a timeline.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Outcome, Simulation } from './simulation.ts';
import { simulationOf } from './simulations.ts';

export interface Batch {
  readonly worlds: number;
  readonly events: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
  readonly failed: readonly Outcome[];
}

/** The events that 1,000 worlds must contain and these worlds lack. `all`: also the rare ones. */
export function unmet({ always, seldom }: Simulation, counts: Batch['counts'], all: boolean): readonly string[] {
  return [...always, ...(all ? seldom : [])].filter((name) => counts[name] === undefined);
}

/** Every so many seeds, a world runs twice: both runs must be equal. */
const REPLAY_ONE_IN = 100;

/** Throws if the second run of a seed differs. */
export function runBatch(simulation: Simulation, first: number, count: number): Batch {
  const counts: Record<string, number> = {};
  const failed: Outcome[] = [];
  let [events, recoveredAfter, failedOverAfter] = [0, 0, 0];
  for (let seed = first; seed < first + count; seed += 1) {
    const outcome = simulation.run(seed);
    events += outcome.events;
    recoveredAfter = Math.max(recoveredAfter, outcome.recoveredAfter);
    failedOverAfter = Math.max(failedOverAfter, outcome.failedOverAfter);
    for (const [name, times] of outcome.counts) counts[name] = (counts[name] ?? 0) + times;
    if (outcome.violations.length > 0) failed.push(outcome);
    if (seed % REPLAY_ONE_IN === 0 && !isDeepStrictEqual(simulation.run(seed), outcome))
      throw new Error(`seed ${seed} of ${simulation.name} is another run the second time`);
  }
  return { worlds: count, events, counts, recoveredAfter, failedOverAfter, failed };
}

function tell(simulation: Simulation, seed: number): void {
  const { plan, violations } = simulation.run(seed, (what, atMs) => console.log(`${String(Math.round(atMs)).padStart(8)} ms  ${what}`));
  console.dir(plan, { depth: 6 });
  console.log(violations);
}

function tellOf(simulation: Simulation, first: number, count: number): void {
  const begun = performance.now();
  const { failed, ...rest } = runBatch(simulation, first, count);
  console.log(JSON.stringify({ ...rest, seconds: Math.round((performance.now() - begun) / 1_000) }, undefined, 1));
  console.log('never happened:', unmet(simulation, rest.counts, true));
  for (const { plan, violations } of failed.slice(0, 20)) console.log(plan.seed, JSON.stringify(violations[0]));
  console.log(`${failed.length} failed`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

if (import.meta.main) {
  const [name = '', first = '1', count = '1000'] = process.argv.slice(2);
  if (first === '--tell') tell(simulationOf(name), Number(count));
  else tellOf(simulationOf(name), Number(first), Number(count));
}
