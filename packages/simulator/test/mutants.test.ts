/** A planted bug replaces an exact text, so a change of the source may leave the bug without its place. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mutants } from './mutants/mutants.ts';

it.each(mutants)('the text that $name replaces is in its source once', ({ file, from }) => {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(source.split(from)).toHaveLength(2);
});
