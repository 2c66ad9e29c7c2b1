/** Every claim that has a command which measures it. */

import { chaosClaims } from '../../chaos/claims.ts';
import { soakCheck } from '../../chaos/soak/soak.ts';
import type { Check } from '../checks/check.ts';
import { checks } from '../checks/index.ts';
import { peerBestEffort } from '../checks/peer-best-effort.ts';
import { peerEmergent } from '../checks/peer-emergent.ts';
import { peerSimulation } from '../checks/peer-simulation.ts';
import { SEEDS, simulations } from '../checks/simulation.ts';
import { testsBusy, testsQuiet } from '../checks/tests.ts';
import type { Claim } from './page.ts';

/** What `pnpm verify` can run. */
export const allChecks: readonly Check[] = [...checks, soakCheck, testsBusy, testsQuiet];

const worlds: ReadonlySet<string> = new Set([...simulations, peerSimulation, ...peerBestEffort, peerEmergent].map(({ name }) => name));

function claimOf({ name, claim, method, runs }: Check): Claim {
  const asked = worlds.has(name) ? { asks: `${runs * SEEDS} worlds`, seedsPerRun: SEEDS } : { asks: `${runs} of ${runs} runs` };
  return { name, claim, method, command: `pnpm verify ${name}`, ...asked };
}

const HUNT =
  'A source is changed as it is loaded, and worlds are run from seed 1 on until a promise breaks. A run is a bug; worlds: how many it took. Without any bug, the same worlds broke nothing.';

/** Bugs that somebody might make, planted one at a time. */
const planted: readonly Claim[] = [
  {
    name: 'planted-bugs',
    claim: 'Each bug planted in core is found by the simulator.',
    method: HUNT,
    command: 'pnpm --filter @incumbent/simulator mutants',
    asks: 'every bug',
    latestOfPart: true,
  },
  {
    name: 'planted-bugs-explorer',
    claim: 'Each bug planted in the candidate is found by the explorer of every order of events.',
    method: 'Two or three candidates over a store of a few lines, breadth first. A run is a bug; states: how many were looked at until it was found.',
    command: 'pnpm --filter @incumbent/simulator mutants',
    asks: 'every bug',
    latestOfPart: true,
  },
  {
    name: 'planted-bugs-peer',
    claim: 'Each bug planted in the elections without a store is found by their simulations.',
    method: HUNT,
    command: 'pnpm --filter @incumbent/peer planted',
    asks: 'every bug',
    latestOfPart: true,
  },
];

export const claims: readonly Claim[] = [...allChecks.map(claimOf), ...chaosClaims, ...planted].toSorted((a, b) =>
  a.name < b.name ? -1 : 1,
);
