import { runCases, storeCases } from '@incumbent/conformance';
import { requireStore, startEtcd, type EtcdServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'etcd', version: 'newer', own: true }))('a newer etcd', () => {
  let etcd: EtcdServer;

  beforeAll(async () => {
    etcd = await startEtcd({ version: 'newer' });
  });
  afterAll(() => etcd.stop());

  // Each case has a namespace of its own, and spends its time waiting.
  runCases(
    storeCases,
    etcdHarness(() => etcd),
    { describe, it: it.concurrent },
  );
});
