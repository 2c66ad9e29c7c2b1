/** The cases under Node's own test runner. `run.test.ts` runs this file in a process of its own. */

import { describe, it } from 'node:test';
import { runCases, storeCases } from '@incumbent/conformance';
import { memoryHarness } from '../../memory/test/harness.ts';

runCases(storeCases, memoryHarness({ server: { assignableLease: false } }), { describe, it });
