/**
 * Reads the corpus of a package again in its unit tests, so that an input that has shown a defect
 * shows it again if it returns.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Corpus, feed, type FuzzTarget } from './target.ts';

const SEED = 20_300_101;
const GENERATED = 100;

/** Defines the tests of these targets, which `targets.ts` in this folder exports. */
export function replayCorpus(folder: string, targets: readonly FuzzTarget[]): void {
  describe.each(targets)('the target $name reads, or refuses by a documented error,', (target) => {
    const kept = new Corpus(`${folder}/targets.ts`, target.name).read();

    it('all that the fuzzer has kept', async () => {
      expect(kept).not.toEqual([]);
      for (const { name, input } of kept) await expect(feed(target, input), `corpus/${target.name}/${name}`).resolves.toBeUndefined();
    });

    it('what fast-check makes', async () => {
      for (const input of fc.sample(target.inputs, { seed: SEED, numRuns: GENERATED })) await feed(target, input);
    });
  });
}
