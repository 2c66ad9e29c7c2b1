/** Checks that this version can read the records of the namespace's elections. */

import { ElectionAdmin, type Store } from '@incumbent/core';

import { failure, ok, type Finding } from './finding.ts';
import { electionNames } from './probe-target.ts';

/** How many elections are read at most. */
const MAX_ELECTIONS = 200;

export async function checkRecords(store: Store): Promise<readonly Finding[]> {
  const names = (await electionNames(store)).slice(0, MAX_ELECTIONS);
  const findings: Finding[] = [];
  for (const name of names) {
    try {
      await new ElectionAdmin(store, name).state();
    } catch (error) {
      findings.push(failure(`election "${name}"`, error));
    }
  }
  const readable = names.length - findings.length;
  return [ok('elections', readable === 0 && findings.length === 0 ? 'none yet' : `${readable} can be read`), ...findings];
}
