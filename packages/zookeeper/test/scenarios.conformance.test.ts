import { outageCases, runCases, scenarioCases, type UseHarness } from '@incumbent/conformance';
import { requireStore, startZookeeper, type ZookeeperServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';

import { zookeeperHarness } from './harness.ts';

/** A server for each case, to be killed. */
const onOwnServer: UseHarness = async (body) => {
  await using server = await startZookeeper();
  await zookeeperHarness(() => server)((harness) => body({ ...harness, server }));
};

// They spend their time waiting.
vi.setConfig({ maxConcurrency: 16 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('scenarios on zookeeper', () => {
  let zookeeper: ZookeeperServer;

  beforeAll(async () => {
    zookeeper = await startZookeeper();
  });
  afterAll(() => zookeeper.stop());

  // The longest first.
  runCases(outageCases, onOwnServer, concurrent);
  runCases(
    scenarioCases,
    zookeeperHarness(() => zookeeper),
    concurrent,
  );
});
