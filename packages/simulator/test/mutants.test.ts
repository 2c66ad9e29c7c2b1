/**
 * A planted bug replaces an exact text, so a change of the source may leave the bug without its
 * place.
 */

import { placesOf } from '@incumbent/test-support/planted-bug';
import { expect, it } from 'vitest';
import { mutants } from './mutants/mutants.ts';

it.each(mutants)('the text that $name replaces is in its source once', (mutant) => {
  expect(placesOf(mutant)).toBe(1);
});
