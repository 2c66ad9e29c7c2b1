/** A planted bug replaces an exact text, so a change of the source can make the bug obsolete. */

import { placesOf } from '@incumbent/test-support/planted-bug';
import { expect, it } from 'vitest';
import { mutants } from './mutants/mutants.ts';

it.each(mutants)('the text that $name replaces is in its source once', (mutant) => {
  expect(placesOf(mutant)).toBe(1);
});
