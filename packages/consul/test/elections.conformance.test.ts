import { electionCases, runCases } from '@incumbent/conformance';
import { startConsul } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { describe, it } from 'vitest';

import { consulHarness } from './harness.ts';

await describeOnServer('elections on consul, sessions bound to checks', { store: 'consul', start: startConsul }, (consul) => {
  // The cases are concurrent because each has its own namespace, and waits most of the time.
  runCases(electionCases, consulHarness(consul), { describe, it: it.concurrent });
});
