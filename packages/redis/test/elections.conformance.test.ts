import { electionCases, runCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeOnRedis } from './harness.ts';

await describeOnRedis('elections on redis', (harness) => {
  // The cases spend their time waiting.
  runCases(electionCases, harness, { describe, it: it.concurrent });
});
