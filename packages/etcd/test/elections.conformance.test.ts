import { electionCases, runCases } from '@incumbent/conformance';
import { requireStore, startEtcd, type EtcdServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'etcd', own: true }))('elections on etcd', () => {
  let etcd: EtcdServer;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  // Each case has a namespace of its own, and spends its time waiting.
  runCases(
    electionCases,
    etcdHarness(() => etcd),
    { describe, it: it.concurrent },
  );
});
