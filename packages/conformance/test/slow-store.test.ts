/** Cases whose order of events depends on the store hold however slow and uneven the store is. */

import { electionCases, runCase, scenarioCases, type StoreCase, type UseHarness } from '@incumbent/conformance';
import { seeded } from '@incumbent/core/testing';
import type { Latency } from '@incumbent/memory';
import { expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';

/**
 * Times as on a slow store. Messages are still on their way when a case ends, so leaks are not
 * looked for.
 */
function slow(latencyMs: Latency): UseHarness {
  return (body) =>
    memoryHarness({ latencyMs })(({ leaks: _, ...harness }) => body({ ...harness, ttlMs: 5_000, timeoutMs: 5_000, slackMs: 3_000 }));
}

function casesNamed(start: string): readonly (readonly [name: string, one: StoreCase])[] {
  return [...electionCases, ...scenarioCases].flatMap((one) => (one.name.startsWith(start) ? [[one.name, one] as const] : []));
}

/** The look for a successor, a second after the election, falls anywhere. */
const LATENCIES = Array.from({ length: 15 }, (_, index) => 110 + 20 * index);

it.each(casesNamed('the claim of a follower whose turn has come'))('%s', async (_, one) => {
  for (const latencyMs of LATENCIES) await runCase(one, slow(latencyMs), (reason) => expect.unreachable(reason));
});

it.each(casesNamed('A02'))('%s', async (_, one) => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = seeded(seed);
    const uneven = (): number => (random.u32() % 8 === 0 ? 300 : 5);
    await runCase(one, slow(uneven), (reason) => expect.unreachable(reason));
  }
});

it.each(casesNamed('A10'))('%s: opens no store for each check', async (_, one) => {
  let opened = 0;
  const counting: UseHarness = (body) =>
    slow(110)((harness) => {
      const open: typeof harness.open = () => {
        opened += 1;
        return harness.open();
      };
      return body({ ...harness, open });
    });
  await runCase(one, counting, (reason) => expect.unreachable(reason));
  // Two of its members, one that reads the queue, and one each before and after the case.
  expect(opened).toBe(5);
});
