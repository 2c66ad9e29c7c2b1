import { ElectionAdmin } from '@incumbent/core';

import { CliError, Exit } from '../exit.ts';
import { withStore, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';
import { presentLeader, untilOver } from './term.ts';

export interface ResignOptions extends StoreOptions {
  readonly term?: bigint;
  readonly timeout: number;
}

/** Makes the present leader step down, and waits until it has let go. It stops its work first, and joins the queue again at its end. */
export async function resign(name: string, options: ResignOptions, surroundings: Surroundings): Promise<number> {
  const { out } = surroundings;
  return withStore(options, surroundings, async (store) => {
    const operator = new ElectionAdmin(store, name);
    const { term, memberId } = await presentLeader(operator, options.term);
    if (!(await operator.stepDown(term))) throw new CliError(Exit.NO, `term ${term} of "${name}" was over before: nothing was done`);
    out.line(`"${memberId}" is told to step down from term ${term}`);
    const after = await untilOver(operator, term, options.timeout);
    if (after === undefined)
      throw new CliError(
        Exit.NO,
        `"${memberId}" has not let go yet, or nobody has followed: it leads no more, at the latest when its lease ends`,
      );
    out.line(after.leader === undefined ? 'nobody leads now' : `"${after.leader.memberId}" leads in term ${after.leader.term}`);
    return Exit.OK;
  });
}
