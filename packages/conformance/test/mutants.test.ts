/**
 * Shows that the cases can fail: the named case catches each of these broken stores, and a correct
 * store passes it.
 */

import { runCase, storeCases, type StoreCase } from '@incumbent/conformance';
import { describe, expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';
import { callMutants, closeMutants } from './mutants/calls.ts';
import { leaseMutants } from './mutants/leases.ts';
import type { Mutant } from './mutants/mutant.ts';
import { otherMutants } from './mutants/other.ts';
import { queueMutants } from './mutants/queue.ts';
import { sharedWatchMutants } from './mutants/shared-watch.ts';
import { staleMutants } from './mutants/stale.ts';
import { swapMutants } from './mutants/swap.ts';
import { watchMutants } from './mutants/watch.ts';

const groups: Readonly<Record<string, readonly Mutant[]>> = {
  compareAndSwap: swapMutants,
  leases: leaseMutants,
  queue: queueMutants,
  watch: watchMutants,
  'shared watches': sharedWatchMutants,
  stale: staleMutants,
  calls: callMutants,
  close: closeMutants,
  other: otherMutants,
};

function caseOf({ caughtBy: [area, name] }: Mutant): StoreCase {
  const found = storeCases.find((one) => one.area === area && one.name === name);
  if (found === undefined) throw new Error(`there is no case "${name}" in "${area}"`);
  return found;
}

function neverSkips(reason: string): never {
  throw new Error(`skipped: ${reason}`);
}

for (const [group, mutants] of Object.entries(groups)) {
  describe(`mutants: ${group}`, () => {
    for (const mutant of mutants) {
      it(`"${mutant.name}" is caught by "${mutant.caughtBy[1]}"`, async () => {
        const one = caseOf(mutant);
        await runCase(one, memoryHarness(), neverSkips);
        const harness = memoryHarness({
          wrap: (store, server) => mutant.wrap(store, server),
          ...(mutant.server && { server: mutant.server }),
        });
        const error: unknown = await runCase(one, harness, () => {}).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error, 'the case passes').toBeInstanceOf(Error);
        expect(String(error)).not.toMatch(/TypeError|ReferenceError/);
      });
    }
  });
}

it('each area of cases catches at least one broken store', () => {
  const guarded = new Set(Object.values(groups).flatMap((mutants) => mutants.map(({ caughtBy: [area] }) => area)));
  expect(guarded).toEqual(new Set(storeCases.map(({ area }) => area)));
});

it('every case has a unique name', () => {
  const names = storeCases.map(({ area, name }) => `${area}: ${name}`);
  expect(new Set(names).size).toBe(names.length);
});
