/** How long `run --restart` waits after a program has ended. */

import type { ProgramEnd } from './process-group.ts';

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/**
 * The pause before the next campaign, in ms: twice the previous one, up to the longest. A program
 * that ran for longer than the longest pause resets it. The time for which this process waited to
 * lead does not count as run time: with several candidates, a program that fails at once would
 * otherwise always be restarted after the shortest pause.
 */
export function restartDelayMs(previousMs: number | undefined, { ranMs }: ProgramEnd): number {
  if (previousMs === undefined || ranMs > LONGEST_MS) return FIRST_MS;
  return Math.min(previousMs * 2, LONGEST_MS);
}
