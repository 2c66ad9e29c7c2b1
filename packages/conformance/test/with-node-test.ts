/** The cases under Node's own runner: run by `run.test.ts` in a process of its own. */

import { describe, it } from 'node:test';
import { runCases, storeCases } from '@incumbent/conformance';
import { memoryHarness } from '../../memory/test/harness.ts';

runCases(storeCases, memoryHarness({ server: { assignableLease: false } }), { describe, it });
