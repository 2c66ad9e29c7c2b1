import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeOnRedis } from './harness.ts';

await describeOnRedis(
  'valkey',
  (harness) => {
    // The cases spend their time waiting.
    runCases([...storeCases, ...electionCases], harness, { describe, it: it.concurrent });
  },
  { version: 'newer' },
);
