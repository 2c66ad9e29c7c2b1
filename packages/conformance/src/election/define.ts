/** Short forms for writing election cases. */

import type { Area, StoreCase } from '../case.ts';
import type { HistoryRules } from '../check-history.ts';
import { Arena } from './arena.ts';

type Options = Pick<StoreCase, 'needs' | 'faults'> & {
  /** What the check of the history permits. */
  readonly history?: HistoryRules;
  /**
   * Members have leases so long that none expires on a busy machine. For cases about something
   * else.
   */
  readonly calm?: boolean;
};

/**
 * Returns a function that defines cases of one area. Each case has an arena, whose history is
 * checked at the end. `areCalm`: whether cases are calm that do not say it.
 */
export function electionCasesOf(
  area: Area,
  areCalm = false,
): (name: string, body: (arena: Arena) => Promise<void>, options?: Options) => StoreCase {
  return (name, body, { history, calm = areCalm, ...options } = {}) => ({
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
