/** The store contract on a real Redis. Real time: the server's own clock ends the leases, and nothing moves that but time. */

import { runCases, storeCases } from '@incumbent/conformance';
import { requireStore, startRedis, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { redisHarness } from './harness.ts';

/** What a store promises that is linearizable. This one is not: a restart or a failover may lose what was acknowledged. Without either, it keeps that as well. */
const untilAFailover = storeCases
  .filter(({ needs }) => needs?.includes('linearizable') === true)
  .map((one) => ({ ...one, needs: one.needs?.filter((need) => need !== 'linearizable') ?? [] }));

describe.runIf(await requireStore({ store: 'redis', own: true }))('redis', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  const harness = redisHarness(() => redis);
  // Each case has a namespace of its own, and spends its time waiting.
  runCases(storeCases, harness, { describe, it: it.concurrent });
  describe('one server, without a failover', () => {
    runCases(untilAFailover, harness, { describe, it: it.concurrent });
  });
});
