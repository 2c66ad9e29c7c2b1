import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { requireStore, startRedis, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { redisHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'redis', version: 'newer', own: true }))('valkey', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis({ version: 'newer' });
  });
  afterAll(() => redis.stop());

  const harness = redisHarness(() => redis);
  // Each case has a namespace of its own, and spends its time waiting.
  runCases([...storeCases, ...electionCases], harness, { describe, it: it.concurrent });
});
