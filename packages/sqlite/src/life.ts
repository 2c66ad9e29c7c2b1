/** One life of a process: its id, and when it started, because ids are used again. */

import { readFileSync } from 'node:fs';

export interface Life {
  readonly pid: number;
  /** As the kernel tells it, in its own units. */
  readonly started: string;
}

interface Stat {
  readonly state: string;
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
  return stat !== undefined && (stat.state === 'Z' || stat.state === 'X' || stat.started !== life.started);
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

function statOf(pid: number): Stat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // Hidden from us, or gone since.
    return undefined;
  }
}

/** The name in the second field may have spaces and brackets in it: the fields are counted from its last bracket. See proc(5). */
export function parseStat(stat: string): Stat | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, started] = [fields[0], fields[19]];
  return state === undefined || started === undefined ? undefined : { state, started };
}
