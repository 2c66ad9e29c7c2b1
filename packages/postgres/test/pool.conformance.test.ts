import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeWithPool } from './harness.ts';

await describeWithPool("postgres with the application's pool", (harness) => {
  // The cases spend their time waiting.
  runCases([...storeCases, ...electionCases], harness, { describe, it: it.concurrent });
});
