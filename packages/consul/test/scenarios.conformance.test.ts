import { outageCases, runCases, scenarioCases, type UseHarness } from '@incumbent/conformance';
import { startConsul } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it, vi } from 'vitest';

import { consulHarness } from './harness.ts';

/** Each outage case kills its own server. */
const onOwnServer: UseHarness = async (body) => {
  await using server = await startConsul();
  await consulHarness(() => server)((harness) => body({ ...harness, server }));
};

// The cases wait most of the time.
vi.setConfig({ maxConcurrency: 16 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

await describeOnServer('scenarios on consul', { store: 'consul', start: startConsul }, (consul) => {
  // The longest cases come first.
  runCases(outageCases, onOwnServer, concurrent);
  runCases(scenarioCases, consulHarness(consul), concurrent);
});
