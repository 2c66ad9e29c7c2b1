import { outageCases, runCases, scenarioCases } from '@incumbent/conformance';
import { startPostgres } from '@incumbent/test-support';
import { withOwnServer } from '@incumbent/test-support/conformance-harness';
import { describe, it, vi } from 'vitest';

import { describeOnPostgres, postgresHarness } from './harness.ts';

// The cases wait most of the time. More at once would slow down the server, which starts a process
// for each connection.
vi.setConfig({ maxConcurrency: 8 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

await describeOnPostgres('scenarios on postgres', (harness) => {
  // The longest cases come first. Each kills its own server.
  runCases(outageCases, withOwnServer(startPostgres, postgresHarness), concurrent);
  runCases(scenarioCases, harness, concurrent);
});
