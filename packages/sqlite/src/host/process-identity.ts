/** Identifies a process by its id and its start time, because the system reuses ids. */

import { readFileSync } from 'node:fs';

import { hasEnded, parseStat, type ProcessStat } from '@incumbent/core/adapter';

import { hasErrno } from '../errors.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** As the kernel reports it in `/proc/<pid>/stat`. */
  readonly started: string;
}

/** This process. Undefined where the system reports no start times, as outside Linux. */
export function ownIdentity(): ProcessIdentity | undefined {
  const stat = statOf(process.pid);
  return stat === undefined ? undefined : { pid: process.pid, started: stat.started };
}

/**
 * Whether the process has certainly ended: there is no process with its id, or it is a zombie that
 * waits for its parent, or another process has its id. False if this cannot be seen.
 */
export function hasDied(process: ProcessIdentity): boolean {
  if (isAbsent(process)) return true;
  const stat = statOf(process.pid);
  return stat !== undefined && (hasEnded(stat) || stat.started !== process.started);
}

/**
 * Whether there certainly is no process with its id. Cheaper than `hasDied`, and misses only
 * zombies and reused ids.
 */
export function isAbsent({ pid }: ProcessIdentity): boolean {
  try {
    return !process.kill(pid, 0);
  } catch (error) {
    // EPERM would mean that the process exists and belongs to another user.
    return hasErrno(error, 'ESRCH');
  }
}

function statOf(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // The process has ended, or its state is hidden from this process.
    return undefined;
  }
}
