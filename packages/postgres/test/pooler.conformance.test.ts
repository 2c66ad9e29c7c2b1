/**
 * Through PgBouncer in transaction mode: nothing depends on the session, and no notification
 * arrives.
 */

import { electionCases, runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { describeThroughPgBouncer } from './harness.ts';

await describeThroughPgBouncer('postgres through PgBouncer', (harness) => {
  // The cases spend their time waiting.
  runCases([...storeCases, ...electionCases], harness, { describe, it: it.concurrent });
});
