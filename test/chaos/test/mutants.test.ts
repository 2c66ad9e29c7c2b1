import { requireStore } from '@incumbent/test-support';
import { placesOf } from '@incumbent/test-support/planted-bug';
import { expect, it } from 'vitest';
import { catchMutant } from '../mutants/catch.ts';
import { mutants } from '../mutants/mutants.ts';

it.each(mutants)('the bug $name fits the source', (mutant) => {
  expect(placesOf(mutant)).toBe(1);
});

// The other bugs take longer: `pnpm chaos --mutants`.
it('a run finds an isValid() that reads no clock', { timeout: 240_000 }, async ({ skip }) => {
  if (!(await requireStore({ store: 'redis', own: true }))) skip();
  const mutant = mutants.find(({ name }) => name === 'readsNoClock');
  const { by } = mutant === undefined ? {} : await catchMutant(mutant, { most: 3 });
  expect(by?.promise).toBe('one valid leader');
});
