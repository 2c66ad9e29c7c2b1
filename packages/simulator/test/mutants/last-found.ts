/** Where each planted bug was found last, by the page that the table writes. */

import { readFileSync } from 'node:fs';
import { FOLDER } from '../../../../test/integration/ledger.ts';

/** One world: the plan of a seed. */
export interface World {
  readonly profile: string;
  readonly seed: number;
}

/** By name. What the page does not know is missing. */
export function lastFound(): ReadonlyMap<string, World> {
  const page = readFileSync(new URL('mutants.md', FOLDER), 'utf8');
  const rows = page.matchAll(/^\| [^|]+ \| `(?<name>\w+)`, [^|]+ \| \d+ \| [^|]+ \| (?<profile>\w+), (?<seed>\d+) \|$/gm);
  return new Map(
    [...rows].map(({ groups = {} }) => [groups['name'] ?? '', { profile: groups['profile'] ?? '', seed: Number(groups['seed']) }]),
  );
}
