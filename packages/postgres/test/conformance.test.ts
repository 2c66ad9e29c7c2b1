/** The store contract on a real PostgreSQL. Real time: the server's own clock ends the leases. */

import { runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeOnPostgres } from './harness.ts';

await describeOnPostgres('postgres', (harness) => {
  // The cases spend their time waiting.
  runCases(storeCases, harness, { describe, it: it.concurrent });
});
