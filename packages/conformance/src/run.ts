/** Runs cases under any runner that has `describe` and `it`: vitest, node:test and the like. */

import { lacking, type StoreCase } from './case.ts';
import type { StoreHarness, UseHarness } from './harness.ts';

/** What a runner hands to a test: the part that is used. */
export interface TestContext {
  /** Reports the running test as skipped. May throw to end it. */
  skip(reason?: string): unknown;
}

/** The part of a test runner that is used. */
export interface Runner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: (context: TestContext) => Promise<void>): unknown;
}

/** Declares every case as a test, grouped by area. A case whose needs the harness lacks is reported as skipped, with what is lacking. */
export function runCases(cases: readonly StoreCase[], useHarness: UseHarness, runner: Runner): void {
  for (const [area, members] of Map.groupBy(cases, (member) => member.area)) {
    runner.describe(area, () => {
      for (const member of members) runner.it(member.name, (context) => runCase(member, useHarness, (reason) => context.skip(reason)));
    });
  }
}

/** Runs one case on a harness of its own; calls `skip`, with what is lacking, where it does not apply. */
export async function runCase(one: StoreCase, useHarness: UseHarness, skip: (reason: string) => unknown): Promise<void> {
  let lacks: readonly string[] = [];
  await useHarness(async (harness) => {
    lacks = await lackingOf(one, harness);
    if (lacks.length === 0) await one.run(harness);
  });
  // Outside the harness, because a runner may end the test by throwing.
  if (lacks.length > 0) skip(`lacking: ${lacks.join(', ')}`);
}

async function lackingOf(one: StoreCase, harness: StoreHarness): Promise<readonly string[]> {
  if (one.needs === undefined && one.faults === undefined) return [];
  const store = await harness.open();
  const lacks = lacking(one, harness, store.capabilities);
  await store.close();
  return lacks;
}
