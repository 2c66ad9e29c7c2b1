import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeOnPostgres } from './harness.ts';

await describeOnPostgres(
  'postgres 17',
  (harness) => {
    // The cases spend their time waiting.
    runCases([...storeCases, ...electionCases], harness, { describe, it: it.concurrent });
  },
  { version: 'newer' },
);
