import { ElectionAdmin } from '@incumbent/core';

import { CliError, Exit } from '../exit.ts';
import { withStore, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';
import { presentLeader, untilOver } from './term.ts';

export interface HandoverOptions extends StoreOptions {
  readonly to: string;
  readonly term?: bigint;
  readonly timeout: number;
}

/** Asks the present leader to hand over to a candidate, and waits until that one leads. What is not done in time is taken back. */
export async function handover(name: string, options: HandoverOptions, surroundings: Surroundings): Promise<number> {
  const { out } = surroundings;
  const { to, timeout } = options;
  return withStore(options, surroundings, async (store) => {
    const operator = new ElectionAdmin(store, name);
    const { term, memberId } = await presentLeader(operator, options.term);
    if (memberId === to) {
      out.line(`"${to}" leads already, in term ${term}`);
      return Exit.OK;
    }
    if (!(await operator.requestHandover(term, to)))
      throw new CliError(Exit.NO, `term ${term} of "${name}" was over before: nothing was done`);
    out.line(`"${memberId}" is asked to hand term ${term} over to "${to}"`);
    const after = await untilOver(operator, term, timeout);
    if (after === undefined) {
      const still = await operator.withdrawHandover(term);
      throw new CliError(
        Exit.NO,
        still
          ? `"${memberId}" did not hand over in time; the request is taken back`
          : `"${memberId}" has stopped leading, and nobody has followed yet`,
      );
    }
    if (after.leader?.memberId !== to)
      throw new CliError(
        Exit.NO,
        after.leader === undefined ? 'nobody leads now' : `"${after.leader.memberId}" leads now, in term ${after.leader.term}, not "${to}"`,
      );
    out.line(`"${to}" leads in term ${after.leader.term}`);
    return Exit.OK;
  });
}
