/**
 * The store contract on a real etcd. Real time: the server's own clock ends the leases, and nothing
 * moves that but time.
 */

import { runCases, storeCases } from '@incumbent/conformance';
import { startEtcd } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

await describeOnServer('etcd', { store: 'etcd', start: startEtcd }, (etcd) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(storeCases, etcdHarness(etcd), { describe, it: it.concurrent });
});
