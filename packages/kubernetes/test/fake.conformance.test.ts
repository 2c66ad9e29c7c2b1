/**
 * The cases of the real API server, on the fake one, so that the fake cannot drift. Real time: only
 * the observers' clocks end leases.
 */

import { runCases, storeCases } from '@incumbent/conformance';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { FakeApiServer } from './fake/api-server.ts';
import { kubernetesHarness } from './harness.ts';

describe('a fake API server', () => {
  let running: FakeApiServer | undefined;
  beforeAll(async () => {
    running = await FakeApiServer.start();
  });
  afterAll(() => running?.stop());

  const useHarness = kubernetesHarness(() => {
    if (running === undefined) throw new Error('the server is started with the first test');
    return running;
  });
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(storeCases, useHarness, { describe, it: it.concurrent });
});
