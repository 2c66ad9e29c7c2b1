import { runCases, storeCases } from '@incumbent/conformance';
import { startEtcd } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

const start = () => startEtcd({ version: 'newer' });

await describeOnServer('a newer etcd', { store: 'etcd', version: 'newer', start }, (etcd) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(storeCases, etcdHarness(etcd), { describe, it: it.concurrent });
});
