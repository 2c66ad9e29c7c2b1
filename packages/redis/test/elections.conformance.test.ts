import { electionCases, runCases } from '@incumbent/conformance';
import { requireStore, startRedis, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { redisHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'redis', own: true }))('elections on redis', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  // Each case has a namespace of its own, and spends its time waiting.
  runCases(
    electionCases,
    redisHarness(() => redis),
    { describe, it: it.concurrent },
  );
});
