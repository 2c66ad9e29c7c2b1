import { electionCases, runCases } from '@incumbent/conformance';
import { startEtcd } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { etcdHarness } from './harness.ts';

await describeOnServer('elections on etcd', { store: 'etcd', start: startEtcd }, (etcd) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(electionCases, etcdHarness(etcd), { describe, it: it.concurrent });
});
