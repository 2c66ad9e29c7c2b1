/** Whether what stands in the namespace can be read by this version. */

import { ElectionAdmin, listElections, type Store } from '@incumbent/core';

import { failure, ok, type Finding } from './finding.ts';

/** A namespace with more is not read through. */
const MOST = 200;

export async function records(store: Store): Promise<readonly Finding[]> {
  const names = (await listElections(store)).slice(0, MOST);
  const findings: Finding[] = [];
  for (const name of names) {
    try {
      await new ElectionAdmin(store, name).state();
    } catch (error) {
      findings.push(failure(`election "${name}"`, error));
    }
  }
  const readable = names.length - findings.length;
  return [ok('elections', readable === 0 && findings.length === 0 ? 'none so far' : `${readable} can be read`), ...findings];
}
