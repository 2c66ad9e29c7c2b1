import { outageCases, runCases, scenarioCases } from '@incumbent/conformance';
import { describe, it, vi } from 'vitest';

import { sqliteHarness } from './harness.ts';

// They spend their time waiting.
vi.setConfig({ maxConcurrency: 16 });

// Each case has a file of its own.
describe('scenarios on a file', () => {
  runCases([...outageCases, ...scenarioCases], sqliteHarness, { describe: describe.concurrent, it: it.concurrent });
});
