/** Cases that depend on how a term ends hold however slow the store is. */

import { electionCases, runCase, type UseHarness } from '@incumbent/conformance';
import { expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';

/** Times as on a slow store. The look for a successor, a second after the election, falls anywhere. */
function slow(latencyMs: number): UseHarness {
  return (body) => memoryHarness({ latencyMs })((harness) => body({ ...harness, ttlMs: 5_000, timeoutMs: 5_000, slackMs: 3_000 }));
}

const LATENCIES = Array.from({ length: 15 }, (_, index) => 110 + 20 * index);
const cases = electionCases.filter(({ name }) => name.startsWith('the claim of a follower whose turn has come'));

it.each(cases.map((one) => [one.name, one] as const))('%s', async (_, one) => {
  for (const latencyMs of LATENCIES) await runCase(one, slow(latencyMs), (reason) => expect.unreachable(reason));
});
