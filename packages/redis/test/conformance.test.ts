/** The store contract on a real Redis. Real time: the server's own clock ends the leases. */

import { runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeOnRedis } from './harness.ts';

/**
 * The cases of linearizable stores. Redis passes them as long as the server neither restarts nor
 * fails over.
 */
const untilAFailover = storeCases
  .filter(({ needs }) => needs?.includes('linearizable') === true)
  .map((one) => ({ ...one, needs: one.needs?.filter((need) => need !== 'linearizable') ?? [] }));

await describeOnRedis('redis', (harness) => {
  // The cases spend their time waiting.
  runCases(storeCases, harness, { describe, it: it.concurrent });
  describe('one server, without a failover', () => {
    runCases(untilAFailover, harness, { describe, it: it.concurrent });
  });
});
