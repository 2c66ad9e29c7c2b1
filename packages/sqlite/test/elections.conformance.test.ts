import { runCases, electionCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { sqliteHarness } from './harness.ts';

describe('elections on a file', () => {
  // Each case has a file of its own, and spends its time waiting.
  runCases(electionCases, sqliteHarness, { describe, it: it.concurrent });
});
