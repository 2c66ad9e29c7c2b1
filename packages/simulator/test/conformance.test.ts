import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';
import type { StoreShape } from '../src/store/shape.ts';
import { simHarness } from './harness.ts';

const shapes: Readonly<Record<string, Partial<StoreShape>>> = {
  'as it comes': {},
  'the keys of a swap share a revision, and enqueue reads': { swapSharesRevision: true, looks: true },
  'leases not assignable, revisions restart': { assignableLease: false, revisionsSurviveDeletion: false },
  // Without `repeatRatio`, which shows an older state again. The contract does not allow that,
  // although core tolerates it.
  'watches lag, messages overtake': { watchLagMs: 40, latency: { minMs: 0, maxMs: 20 } },
};

describe.each(Object.entries(shapes))('the simulated store, %s', (_, shape) => {
  describe.each([1, 2, 3])('seed %i', (seed) => {
    runCases(storeCases, simHarness(seed, shape), { describe, it });
  });
});

describe.each(Object.entries(shapes).slice(0, 3))('elections on the simulated store, %s', (_, shape) => {
  runCases(electionCases, simHarness(1, shape), { describe, it });
});
