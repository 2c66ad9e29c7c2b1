import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { requireStore, startZookeeper, type ZookeeperServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { zookeeperHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'zookeeper', version: 'newer', own: true }))('a newer zookeeper', () => {
  let zookeeper: ZookeeperServer;

  beforeAll(async () => {
    zookeeper = await startZookeeper({ version: 'newer' });
  });
  afterAll(() => zookeeper.stop());

  // Each case has a namespace of its own, and spends its time waiting.
  runCases(
    [...storeCases, ...electionCases],
    zookeeperHarness(() => zookeeper),
    { describe, it: it.concurrent },
  );
});
