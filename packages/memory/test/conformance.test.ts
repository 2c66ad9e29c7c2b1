import { runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';
import { memoryHarness, type MemoryHarnessOptions } from './harness.ts';

/** Some messages take long, and overtake none or many others: the same ones in every run. */
function unevenLatency(): () => number {
  let sent = 0;
  return () => ((sent += 1) * 7) % 11;
}

const modes: Readonly<Record<string, () => MemoryHarnessOptions>> = {
  'as it comes': () => ({}),
  'leases not assignable': () => ({ server: { assignableLease: false } }),
  'revisions restart': () => ({ server: { revisionsSurviveDeletion: false } }),
  'both, and slow': () => ({ server: { assignableLease: false, revisionsSurviveDeletion: false }, latencyMs: 7 }),
  'uneven latency': () => ({ latencyMs: unevenLatency() }),
};

for (const [mode, options] of Object.entries(modes)) {
  describe(`memory, ${mode}`, () => {
    runCases(storeCases, (body) => memoryHarness(options())(body), { describe, it });
  });
}
