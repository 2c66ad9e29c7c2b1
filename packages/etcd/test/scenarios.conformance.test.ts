import { outageCases, runCases, scenarioCases, type UseHarness } from '@incumbent/conformance';
import { requireStore, startEtcd, type EtcdServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';

import { etcdHarness } from './harness.ts';

/** A server for each case, to be killed. */
const onOwnServer: UseHarness = async (body) => {
  await using server = await startEtcd();
  await etcdHarness(() => server)((harness) => body({ ...harness, server }));
};

// They spend their time waiting.
vi.setConfig({ maxConcurrency: 16 });
const concurrent = { describe: describe.concurrent, it: it.concurrent };

describe.runIf(await requireStore({ store: 'etcd', own: true }))('scenarios on etcd', () => {
  let etcd: EtcdServer;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  // The longest first.
  runCases(outageCases, onOwnServer, concurrent);
  runCases(
    scenarioCases,
    etcdHarness(() => etcd),
    concurrent,
  );
});
