/**
 * The store contract on files. Real time: other connections, which share the file and no clock, see
 * leases end.
 */

import { runCases, storeCases } from '@incumbent/conformance';
import { describe, it } from 'vitest';

import { sqliteHarness } from './harness.ts';

describe('the cases on a file', () => {
  // Each case has a file of its own, and spends its time waiting.
  runCases(storeCases, sqliteHarness, { describe, it: it.concurrent });
});
