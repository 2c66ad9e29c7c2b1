import { outageCases, runCases, scenarioCases, type UseHarness } from '@incumbent/conformance';
import { requireStore, startRedis, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';

import { redisHarness } from './harness.ts';

/** A server for each case, to be killed. */
const onOwnServer: UseHarness = async (body) => {
  await using server = await startRedis();
  await redisHarness(() => server)((harness) => body({ ...harness, server }));
};

// They spend their time waiting.
vi.setConfig({ maxConcurrency: 16 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

describe.runIf(await requireStore({ store: 'redis', own: true }))('scenarios on redis', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  // The longest first.
  runCases(outageCases, onOwnServer, concurrent);
  runCases(
    scenarioCases,
    redisHarness(() => redis),
    concurrent,
  );
});
