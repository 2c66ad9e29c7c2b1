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

/** What became of one case on its harness: what is lacking, or the error that the case threw. */
type CaseOutcome = { readonly lacks: readonly string[] } | { readonly error: unknown };

/**
 * Runs one case on a harness of its own. If the case does not apply, calls `skip` with what is
 * lacking instead.
 *
 * @throws {AssertionError} If the store breaks the guarantee of the case. Rejects with any other
 *   error as it is, and with an error if the harness has not run the case to its end.
 */
export async function runCase(one: StoreCase, useHarness: UseHarness, skip: (reason: string) => unknown): Promise<void> {
  // Recorded here, because a harness may neither await the case nor pass on its error.
  const outcomes: CaseOutcome[] = [];
  await useHarness(async (harness) => {
    try {
      const lacks = await lackingOf(one, harness);
      if (lacks.length === 0) await one.run(harness);
      outcomes.push({ lacks });
    } catch (error) {
      outcomes.push({ error });
      throw error;
    }
  });
  const outcome = outcomes.at(-1);
  if (outcome === undefined) throw new Error('useHarness has not run its body to the end: it must call it and await it');
  if ('error' in outcome) throw outcome.error;
  // Called outside the harness, because a runner may end the test by throwing.
  if (outcome.lacks.length > 0) skip(`lacking: ${outcome.lacks.join(', ')}`);
}

async function lackingOf(one: StoreCase, harness: StoreHarness): Promise<readonly string[]> {
  if (one.needs === undefined && one.faults === undefined) return [];
  const store = await harness.open();
  const lacks = lacking(one, harness, store.capabilities);
  await store.close();
  return lacks;
}
