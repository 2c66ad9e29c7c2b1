import { ElectionAdmin } from '@incumbent/core';

import { Exit } from '../exit.ts';
import { showValue, toJson } from '../json.ts';
import { withStore, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';

export interface CandidatesOptions extends StoreOptions {
  readonly json?: boolean;
}

/** Who is in the queue, in the order in which they would lead. */
export async function candidates(name: string, options: CandidatesOptions, surroundings: Surroundings): Promise<number> {
  const { out, err } = surroundings;
  return withStore(options, surroundings, async (store) => {
    const { candidates: queue, stopping, succession } = await new ElectionAdmin(store, name).state();
    if (queue.length === 0) {
      if (options.json !== true) err.line(`nobody is a candidate of "${name}"`);
      return Exit.NO;
    }
    if (options.json === true) {
      queue.forEach((candidate, index) =>
        out.line(toJson({ election: name, position: index, succession, stopping: candidate.leads && stopping, ...candidate })),
      );
      return Exit.OK;
    }
    const rows = queue.map(({ memberId, incarnation, leads, value }, index) => [
      String(index),
      memberId,
      leads ? (stopping ? 'stopping' : 'leads') : 'waits',
      incarnation,
      showValue(value),
    ]);
    out.table([['#', 'MEMBER', 'STATE', 'INCARNATION', 'VALUE'], ...rows]);
    return Exit.OK;
  });
}
