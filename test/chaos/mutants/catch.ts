/** Plants one bug, and runs until a run finds it. */

import { makeScratch, spawnScript } from '@incumbent/test-support';
import type { Mutant } from './mutants.ts';

const JUDGED_MS = 240_000;

export interface Caught {
  /** How many runs were needed. */
  readonly runs: number;
  /** Undefined if no run found it. */
  readonly by?: { readonly promise: string; readonly what: string; readonly afterMs: number };
}

/** Tries the seeds from 1 to `most`. Without the bug if `planted` is false. */
export async function catchMutant(
  mutant: Mutant,
  { most, planted = true }: { readonly most: number; readonly planted?: boolean },
): Promise<Caught> {
  for (let seed = 1; seed <= most; seed += 1) {
    const by = await judged(mutant, seed, planted);
    if (by !== undefined) return { runs: seed, by };
  }
  return { runs: most };
}

async function judged({ name, store, only }: Mutant, seed: number, planted: boolean): Promise<Caught['by']> {
  const folder = await makeScratch('chaos-mutant');
  try {
    const hook = planted ? `--import=${import.meta.resolve('./hook.ts')}` : '';
    await using script = await spawnScript(new URL('./judged.ts', import.meta.url), {
      args: [store, only.join(','), String(seed), folder.path, hook],
      env: planted ? { NODE_OPTIONS: hook, MUTANT: name } : {},
    });
    const { fields } = await script.waitFor('judged', { withinMs: JUDGED_MS });
    const { promise, what, afterMs } = fields;
    return typeof promise === 'string' ? { promise, what: String(what), afterMs: Number(afterMs) } : undefined;
  } finally {
    await folder.remove();
  }
}
