/** One life of a process: its id, and when it started, because ids are used again. */

import { readFileSync } from 'node:fs';

import { hasEnded, parseStat, type ProcessStat } from '@incumbent/core/adapter';

export interface Life {
  readonly pid: number;
  /** As the kernel tells it, in its own units. */
  readonly started: string;
}

/** Undefined where the system tells no start times. */
export function ownLife(): Life | undefined {
  const stat = statOf(process.pid);
  return stat === undefined ? undefined : { pid: process.pid, started: stat.started };
}

/**
 * Whether this life is certainly over: there is no such process, it is a zombie that waits for its parent, or another one has its id. What
 * cannot be seen counts as alive.
 */
export function isOver(life: Life): boolean {
  if (isGone(life)) return true;
  const stat = statOf(life.pid);
  return stat !== undefined && (hasEnded(stat) || stat.started !== life.started);
}

/** Whether there certainly is no process with its id. Cheaper than `isOver`, and enough for most. */
export function isGone({ pid }: Life): boolean {
  try {
    return !process.kill(pid, 0);
  } catch (error) {
    // EPERM: somebody else's, and there.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

function statOf(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // Hidden from us, or gone since.
    return undefined;
  }
}
