import { availableParallelism } from 'node:os';
import { missing, type Summary } from '@incumbent/simulator';
import { Worker } from '../simulation/workers.ts';
import type { Check, OpenCheck } from './check.ts';

/** Seeds of one run. */
export const SEEDS = 1_000;

/** Seeds from here on belong to the ledger: a run's first is its index times as many after the seed that the row names. */
function simulation(profile: string, runs: number, what: string): Check {
  return {
    name: `simulation-${profile}`,
    claim: `${runs * SEEDS} worlds of the profile ${profile}, ${what}, break no promise.`,
    method: `Each run is ${SEEDS} seeds in a row, the first of run n being the row's seed + ${SEEDS} × (n − 1); of every 100 one is run twice, and must be the same. All checkers of packages/simulator; and everything that the profile is made for must have happened in each run. Again: pnpm simulate --profile ${profile} --replay SEED.`,
    runs,
    parallel: availableParallelism(),
    open: async () => new Batches(profile),
  };
}

class Batches implements OpenCheck {
  readonly #profile: string;
  readonly #idle: Worker[] = [];
  readonly #all: Worker[] = [];

  constructor(profile: string) {
    this.#profile = profile;
  }

  async run(index: number, { seed }: Parameters<OpenCheck['run']>[1]): ReturnType<OpenCheck['run']> {
    const worker = this.#idle.pop() ?? this.#start();
    const summary = await worker.run({ profile: this.#profile, start: seed + index * SEEDS, count: SEEDS });
    this.#idle.push(worker);
    assertKept(summary);
    const { simulatedMs, events, counts } = summary;
    const struck = Object.entries(counts).reduce((sum, [name, count]) => sum + (name.startsWith('struck: ') ? count : 0), 0);
    return {
      figures: { seeds: summary.runs, simulatedHours: simulatedMs / 3_600_000, events, faults: struck, terms: counts['issued'] ?? 0 },
    };
  }

  #start(): Worker {
    const worker = new Worker();
    this.#all.push(worker);
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#all) worker[Symbol.dispose]();
  }
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
  simulation('calm', 100, 'in which nothing goes wrong but what leaders do themselves'),
  simulation('operator', 50, 'in which somebody ends live leases, but that two may believe until the watch has told'),
  simulation('earlyEnd', 50, 'in which the store ends live leases, but that two may believe until the watch has told'),
];
