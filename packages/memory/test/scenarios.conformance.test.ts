import { outageCases, runCases, scenarioCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';
import { memoryHarness, type MemoryHarnessOptions } from './harness.ts';

const modes: Readonly<Record<string, MemoryHarnessOptions>> = {
  'as it comes': { latencyMs: 1 },
  'leases not assignable, and revisions restart': { server: { assignableLease: false, revisionsSurviveDeletion: false }, latencyMs: 3 },
};

for (const [mode, options] of Object.entries(modes)) {
  describe(`scenarios on memory, ${mode}`, () => {
    runCases([...scenarioCases, ...outageCases], memoryHarness(options), { describe, it });
  });
}
