/** Every claim that a command measures. */

import { chaosClaims } from '../../chaos/claims.ts';
import { soakCheck } from '../../chaos/soak/soak.ts';
import type { Check } from '../checks/check.ts';
import { checks } from '../checks/index.ts';
import { peerBestEffort } from '../checks/peer-best-effort.ts';
import { peerEmergent } from '../checks/peer-emergent.ts';
import { peerSimulation } from '../checks/peer-simulation.ts';
import { SEEDS, simulations } from '../checks/simulation.ts';
import { testsAll, testsBusy, testsQuiet } from '../checks/tests.ts';
import type { Claim } from './page.ts';
import { PEERS_SINCE, SINCE } from './worlds.ts';

/** What `pnpm verify` can run. */
export const allChecks: readonly Check[] = [...checks, soakCheck, testsBusy, testsQuiet, testsAll];

/** For each check of simulated worlds: since when worlds count. */
const worldsSince: ReadonlyMap<string, string> = new Map([
  ...simulations.map(({ name }) => [name, SINCE] as const),
  ...[peerSimulation, ...peerBestEffort, peerEmergent].map(({ name }) => [name, PEERS_SINCE] as const),
]);

function claimOf({ name, claim, method, runs }: Check): Claim {
  const since = worldsSince.get(name);
  const about = { name, claim, method, command: `pnpm verify ${name}` };
  if (since === undefined) return { ...about, asks: `${runs} of ${runs} runs` };
  return { ...about, asks: `${runs * SEEDS} worlds`, worlds: { seedsPerRun: SEEDS, since } };
}

const SEARCH =
  'A source is changed as it is loaded, and worlds are run from seed 1 on until a promise breaks. A run is a bug; worlds: how many it took. Without any bug, the same worlds broke nothing.';

/** Plausible bugs, planted one at a time. */
const planted: readonly Claim[] = [
  {
    name: 'planted-bugs',
    claim: 'Each bug planted in core is found by the simulator.',
    method: SEARCH,
    command: 'pnpm --filter @incumbent/simulator mutants',
    asks: 'every bug',
    latestOfPart: true,
  },
  {
    name: 'planted-bugs-explorer',
    claim: 'Each bug planted in the candidate is found by the explorer of every order of events.',
    method:
      'Two or three candidates over a store of a few lines, breadth first. A run is a bug; states: how many were looked at until it was found.',
    command: 'pnpm --filter @incumbent/simulator mutants',
    asks: 'every bug',
    latestOfPart: true,
  },
  {
    name: 'planted-bugs-chaos',
    claim: 'Each bug planted in core is found by chaos on real servers, and without it nothing is.',
    method:
      'A source is changed as a process of a run loads it. The run draws its faults, of those that the bug names, from the seeds 1, 2 and so on, until the checker finds a broken promise; the same runs without the bug must break nothing. A part is a bug.',
    command: 'pnpm chaos --mutants',
    asks: 'every bug',
    latestOfPart: true,
  },
  {
    name: 'planted-bugs-peer',
    claim: 'Each bug planted in the elections without a store is found by their simulations.',
    method: SEARCH,
    command: 'pnpm --filter @incumbent/peer planted',
    asks: 'every bug',
    latestOfPart: true,
  },
];

export const claims: readonly Claim[] = [...allChecks.map(claimOf), ...chaosClaims, ...planted].toSorted((a, b) =>
  a.name < b.name ? -1 : 1,
);
