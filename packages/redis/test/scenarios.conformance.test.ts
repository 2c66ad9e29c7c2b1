import { outageCases, runCases, scenarioCases, type UseHarness } from '@incumbent/conformance';
import { startRedis } from '@incumbent/test-support';
import { describe, it, vi } from 'vitest';

import { describeOnRedis, redisHarness } from './harness.ts';

/** Each of these cases kills its server. */
const onOwnServer: UseHarness = async (body) => {
  await using server = await startRedis();
  await redisHarness(() => server)((harness) => body({ ...harness, server }));
};

// The cases spend their time waiting.
vi.setConfig({ maxConcurrency: 16 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

await describeOnRedis('scenarios on redis', (harness) => {
  // The longest cases first.
  runCases(outageCases, onOwnServer, concurrent);
  runCases(scenarioCases, harness, concurrent);
});
