/** Runs cases under any test runner that has `describe` and `it`, such as vitest or node:test. */

import { lacking, type StoreCase } from './case.ts';
import type { StoreHarness, UseHarness } from './harness.ts';

/** The part of a runner's test context that is used. */
export interface TestContext {
  /** Reports the running test as skipped. May throw to end it. */
  skip(reason?: string): unknown;
}

/** The part of a test runner that is used. */
export interface Runner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: (context: TestContext) => Promise<void>): unknown;
}

/**
 * Declares every case as a test, grouped by area. A case that does not apply is reported as
 * skipped, with what the store or its harness lacks.
 */
export function runCases(cases: readonly StoreCase[], useHarness: UseHarness, runner: Runner): void {
  for (const [area, members] of Map.groupBy(cases, (member) => member.area)) {
    runner.describe(area, () => {
      for (const member of members) runner.it(member.name, (context) => runCase(member, useHarness, (reason) => context.skip(reason)));
    });
  }
}

/**
 * Runs one case on a harness of its own. If the case does not apply, calls `skip` with what is
 * lacking instead.
 *
 * @throws {AssertionError} If the store breaks the guarantee of the case. Rejects with any other
 *   error as it is.
 */
export async function runCase(one: StoreCase, useHarness: UseHarness, skip: (reason: string) => unknown): Promise<void> {
  let lacks: readonly string[] = [];
  await useHarness(async (harness) => {
    lacks = await lackingOf(one, harness);
    if (lacks.length === 0) await one.run(harness);
  });
  // Called outside the harness, because a runner may end the test by throwing.
  if (lacks.length > 0) skip(`lacking: ${lacks.join(', ')}`);
}

async function lackingOf(one: StoreCase, harness: StoreHarness): Promise<readonly string[]> {
  if (one.needs === undefined && one.faults === undefined) return [];
  const store = await harness.open();
  const lacks = lacking(one, harness, store.capabilities);
  await store.close();
  return lacks;
}
