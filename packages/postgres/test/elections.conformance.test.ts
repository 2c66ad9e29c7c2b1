import { electionCases, runCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeOnPostgres } from './harness.ts';

await describeOnPostgres('elections on postgres', (harness) => {
  // The cases spend their time waiting.
  runCases(electionCases, harness, { describe, it: it.concurrent });
});
