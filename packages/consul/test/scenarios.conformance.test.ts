import { outageCases, runCases, scenarioCases } from '@incumbent/conformance';
import { startConsul } from '@incumbent/test-support';
import { withOwnServer } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it, vi } from 'vitest';

import { consulHarness } from './harness.ts';

// The cases wait most of the time.
vi.setConfig({ maxConcurrency: 16 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

await describeOnServer('scenarios on consul', { store: 'consul', start: startConsul }, (consul) => {
  // The longest cases come first. Each kills its own server.
  runCases(outageCases, withOwnServer(startConsul, consulHarness), concurrent);
  runCases(scenarioCases, consulHarness(consul), concurrent);
});
