/**
 * The store contract on a real etcd. Real time: the server's own clock ends the leases, and nothing
 * moves that but time.
 */

import { runCases, storeCases } from '@incumbent/conformance';
import { requireStore, startEtcd, type EtcdServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

describe.runIf(await requireStore({ store: 'etcd', own: true }))('etcd', () => {
  let etcd: EtcdServer;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  // Each case has a namespace of its own, and spends its time waiting.
  runCases(
    storeCases,
    etcdHarness(() => etcd),
    { describe, it: it.concurrent },
  );
});
