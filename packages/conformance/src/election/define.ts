/** Short forms for writing election cases. */

import type { Area, StoreCase } from '../case.ts';
import type { HistoryRules } from '../check-history.ts';
import { Arena } from './arena.ts';

type Options = Pick<StoreCase, 'needs' | 'faults'> & {
  /** What the checker may excuse. */
  readonly history?: HistoryRules;
  /** Members live by leases that a busy machine does not let end: for cases about something else. */
  readonly calm?: boolean;
};

/** Returns a function that defines cases of one area; each takes place in an arena whose history is checked at the end. */
export function electionCasesOf(area: Area): (name: string, body: (arena: Arena) => Promise<void>, options?: Options) => StoreCase {
  return (name, body, { history, calm = false, ...options } = {}) => ({
    area,
    name,
    ...options,
    run: async (harness) => {
      const arena = new Arena(harness, calm);
      try {
        await body(arena);
      } catch (error) {
        await arena.close({ ...history, unfinished: true }).catch(() => {});
        throw error;
      }
      await arena.close(history);
    },
  });
}
