import { outageCases, runCases, scenarioCases, type UseHarness } from '@incumbent/conformance';
import { requireStore, startConsul, type ConsulServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';

import { consulHarness } from './harness.ts';

/** A server for each case, to be killed. */
const onOwnServer: UseHarness = async (body) => {
  await using server = await startConsul();
  await consulHarness(() => server, { ttlMs: 2_000, session: 'check' })((harness) => body({ ...harness, server }));
};

// They spend their time waiting.
vi.setConfig({ maxConcurrency: 16 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

describe.runIf(await requireStore({ store: 'consul', own: true }))('scenarios on consul', () => {
  let consul: ConsulServer;

  beforeAll(async () => {
    consul = await startConsul();
  });
  afterAll(() => consul.stop());

  // The longest first.
  runCases(outageCases, onOwnServer, concurrent);
  runCases(
    scenarioCases,
    consulHarness(() => consul, { ttlMs: 2_000, session: 'check' }),
    concurrent,
  );
});
