import { ElectionAdmin } from '@incumbent/core';

import { Exit } from '../exit.ts';
import { showValue, toJson } from '../json.ts';
import { withStore, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';

export interface LeaderOptions extends StoreOptions {
  readonly json?: boolean;
}

/** Who leads now: by a linearizable read. */
export async function leader(name: string, options: LeaderOptions, surroundings: Surroundings): Promise<number> {
  const { out, err } = surroundings;
  return withStore(options, surroundings, async (store) => {
    const { leader: now, term, ended, stopping } = await new ElectionAdmin(store, name).state();
    if (now === undefined) {
      if (options.json === true) out.line(toJson({ election: name, leader: null, term: term ?? null, ended: ended ?? null, stopping }));
      else err.line(`nobody leads "${name}"${term === undefined ? '' : ` (the last term was ${term})`}`);
      return Exit.NO;
    }
    if (options.json === true) out.line(toJson({ election: name, leader: now.memberId, ...now }));
    else out.line(`${now.memberId}  ${out.style('dim', `term ${now.term}  ${showValue(now.value)}`.trimEnd())}`);
    return Exit.OK;
  });
}
