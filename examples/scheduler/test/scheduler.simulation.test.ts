/** The scheduler in simulated worlds with faults: no run is started twice, and none is skipped. */

import { simulate, type ProgramContext, SimulationError, type ProgramUnderTest } from '@incumbent/simulator';
import { expect, it } from 'vitest';
import { schedule } from '../scheduler.ts';
import { Runs } from '../table.ts';

function member(self: ProgramContext, table: Runs): Promise<void> {
  const remote = {
    last: (term: bigint) => self.call(() => table.last(term)),
    start: (run: number, term: bigint) =>
      self.call(() => {
        table.start(run, term);
        self.note(`run ${run} was started in term ${term}`);
      }),
  };
  return schedule(self.store, remote, { ...self.options, signal: self.stopping });
}

function world(table = new Runs()): ProgramUnderTest {
  return { member: (self) => member(self, table), check: () => table.assertOnce() };
}

it('starts every run once, in 1,000 stormy worlds', { timeout: 600_000 }, async () => {
  const { worlds, terms, counts } = await simulate(() => world(), { profile: 'stormy', seeds: 1_000 });
  expect(worlds).toBe(1_000);
  expect(terms).toBeGreaterThan(5_000);
  expect(counts.get('fault: pause')).toBeGreaterThan(1_000);
});

it('starts every run once when faults hit every new leader', { timeout: 600_000 }, async () => {
  await simulate(() => world(), { profile: 'adversarial', seeds: 200 });
});

class UnfencedRuns extends Runs {
  override last(): number {
    return this.rows.at(-1)?.run ?? 0;
  }

  override start(run: number, term: bigint): void {
    this.rows.push({ run, term });
  }
}

/**
 * Checks the term of writes, but not of reads: a delayed run may arrive between a read and its
 * write.
 */
class HalfFencedRuns extends Runs {
  override last(): number {
    return this.rows.at(-1)?.run ?? 0;
  }
}

it.each([
  ['no fence', UnfencedRuns],
  ['a fence for writes only', HalfFencedRuns],
])('starts runs twice with %s, which the simulation detects', { timeout: 600_000 }, async (_, Table) => {
  const found: unknown = await simulate(() => world(new Table())).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(SimulationError);
  expect(found).toMatchObject({ message: expect.stringMatching(/the check passes: run \d+ was started in term \d+ after run \d+/) });
});
