import { ElectionAdmin } from '@incumbent/core';

import { CliError, Exit } from '../exit.ts';
import { withStore, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';

export interface LowerTermOptions extends StoreOptions {
  readonly from: bigint;
  readonly to: bigint;
}

/** Replaces the last term by a lower one, which only an operator who knows the fences can ask for. */
export async function lowerTermUnsafely(name: string, options: LowerTermOptions, surroundings: Surroundings): Promise<number> {
  const { out } = surroundings;
  const { from, to } = options;
  return withStore(options, surroundings, async (store) => {
    const operator = new ElectionAdmin(store, name);
    if (!(await operator.lowerTermUnsafely(from, to))) {
      const { term } = await operator.state();
      const last = term === undefined ? 'nobody has led yet' : `the last term is ${term}`;
      throw new CliError(Exit.NO, `${from} is not the last term of "${name}": ${last}; nothing was done`);
    }
    out.line(`the last term of "${name}" was ${from}, and is ${to}: the next leader has term ${to + 1n}`);
    out.line(`reset each fence that has seen a term above ${to}: until then it refuses the new leaders`);
    return Exit.OK;
  });
}
