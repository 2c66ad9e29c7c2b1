/**
 * Members without a store in simulated worlds: this many seeds in each run, in processes of their
 * own.
 */

import { availableParallelism } from 'node:os';
import type { PeerSummary } from '../simulation/peer-worker.ts';
import { PEER_WORLDS, Workers, type PeerSeeds, type Seeds } from '../simulation/workers.ts';
import type { Check, Figures } from './check.ts';
import { methodOf, SEEDS } from './simulation.ts';

type About = Pick<Check, 'name' | 'claim' | 'method' | 'runs'>;

/** The results of one run. All further properties are figures. */
interface Came {
  readonly worlds: number;
  readonly problems: readonly string[];
}

interface Batches<B extends Seeds, S extends Came> {
  readonly program: URL;
  /** The seeds of one run. */
  readonly count: number;
  batchOf(seeds: Seeds): B;
  figuresOf(summary: S): Figures;
}

export function worldsCheck<B extends Seeds, S extends Came>(about: About, { program, count, batchOf, figuresOf }: Batches<B, S>): Check {
  return {
    ...about,
    parallel: availableParallelism(),
    open: async () => {
      const workers = new Workers<B, S>(program);
      return {
        run: async (index, { seed }) => {
          const summary = await workers.run(batchOf({ start: seed + index * count, count }));
          if (summary.problems.length > 0) throw new Error(summary.problems.join('\n'));
          return { figures: { seeds: summary.worlds, ...figuresOf(summary) } };
        },
        [Symbol.asyncDispose]: async () => workers[Symbol.asyncDispose](),
      };
    },
  };
}

/** The worlds of one simulation of packages/peer, by its name. */
export function peerWorlds(on: string, { method, ...about }: About): Check {
  const again = `Again: node --conditions=@incumbent/source packages/peer/test/simulation/batch.ts ${on} --tell SEED.`;
  return worldsCheck<PeerSeeds, PeerSummary>(
    { ...about, method: methodOf(`${method} ${again}`) },
    {
      program: PEER_WORLDS,
      count: SEEDS,
      batchOf: (seeds) => ({ on, ...seeds }),
      figuresOf: ({ worlds: _, problems: __, ...figures }) => figures,
    },
  );
}
