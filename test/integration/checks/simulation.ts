import { availableParallelism } from 'node:os';
import { missing, type Summary } from '@incumbent/simulator';
import { Workers, WORLDS, type Batch } from '../simulation/workers.ts';
import type { Check, OpenCheck } from './check.ts';

/** The seeds of one run. */
export const SEEDS = 1_000;

/** The first seed of a run is the seed of the row plus its index times `SEEDS`. */
function simulation(profile: string, runs: number, what: string): Check {
  return {
    name: `simulation-${profile}`,
    claim: `${runs * SEEDS} worlds of the profile ${profile}, ${what}, break no promise.`,
    method: methodOf(
      `All checkers of packages/simulator; and everything that the profile is made for must have happened in each run. Again: pnpm simulate --profile ${profile} --replay SEED.`,
    ),
    runs,
    parallel: availableParallelism(),
    open: async () => openBatches(profile),
  };
}

/** The text that every page of worlds contains. */
export function methodOf(what: string): string {
  return `Each run is ${SEEDS} seeds in a row, the first of run n being the row's seed + ${SEEDS} × (n − 1); of every 100 one is run twice, and must be the same. ${what}`;
}

async function openBatches(profile: string): Promise<OpenCheck> {
  const workers = new Workers<Batch, Summary>(WORLDS);
  return {
    run: async (index, { seed }) => {
      const summary = await workers.run({ profile, start: seed + index * SEEDS, count: SEEDS });
      assertKept(summary);
      const { simulatedMs, events, counts } = summary;
      const faults = Object.entries(counts).reduce((sum, [name, count]) => sum + (name.startsWith('fault: ') ? count : 0), 0);
      return {
        figures: { seeds: summary.runs, simulatedHours: simulatedMs / 3_600_000, events, faults, terms: counts['issued'] ?? 0 },
      };
    },
    [Symbol.asyncDispose]: async () => workers[Symbol.asyncDispose](),
  };
}

function assertKept(summary: Summary): void {
  const broken = summary.failed.map(
    ({ seed, violations: [first] }) =>
      `seed ${seed}: ${first?.promise} (${first?.what}); again: pnpm simulate --profile ${summary.profile} --replay ${seed}`,
  );
  const problems = [...broken, ...missing(summary)];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

export const simulations: readonly Check[] = [
  simulation('stormy', 400, 'in which everything goes wrong at any time'),
  simulation('adversarial', 400, 'in which it goes wrong when the election has just done something'),
  simulation('reaped', 20, 'in which every process has a reaper that ends its leases soon after its death'),
  simulation(
    'blocked',
    20,
    'in which every process has a worker that renews its leases while its event loop is blocked, and may itself fail',
  ),
  simulation('calm', 100, 'in which nothing goes wrong but what leaders do themselves'),
  simulation('operator', 50, 'in which somebody ends live leases, but that two may consider themselves leader until the watch has told'),
  simulation('earlyEnd', 50, 'in which the store ends live leases, but that two may consider themselves leader until the watch has told'),
];
