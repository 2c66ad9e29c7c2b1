/** What is asked of the operating system, so that a test can stand in its place. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

import type { Cancel, Clock } from '@incumbent/core';
import { parseStat, processSpace, type ProcessStat } from '@incumbent/core/adapter';

export interface System {
  /** `monotonic()` is the machine's, the same in all of its processes. */
  readonly clock: Clock;
  /** Sends a signal, 0 for none, to a process; to a group by its id below zero. `absent`: there is certainly no such one. */
  signal(pid: number, signal: 'SIGKILL' | 0): 'sent' | 'absent' | 'denied';
  /** Undefined: there is none, or it cannot be seen. */
  stat(pid: number): ProcessStat | undefined;
  /** The ids of all processes that can be seen. Undefined where the system does not tell. */
  processes(): readonly number[] | undefined;
}

export const machine: System = {
  clock: {
    // Not performance.now(), whose zero is the process's own start.
    monotonic: () => Number(process.hrtime.bigint()) / 1e6,
    wall: () => Date.now(),
    schedule: (delayMs, task) => after(delayMs, task),
    keepAlive: () => after(2 ** 31 - 1, () => {}),
  },
  signal: (pid, signal) => {
    try {
      process.kill(pid, signal);
      return 'sent';
    } catch (error) {
      // EPERM: somebody else's, and there.
      return error instanceof Error && 'code' in error && error.code === 'ESRCH' ? 'absent' : 'denied';
    }
  },
  stat: (pid) => parseStat(tryRead(`/proc/${pid}/stat`) ?? ''),
  processes: () => {
    try {
      return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
    } catch {
      return undefined;
    }
  },
};

/** The namespaces in which this process's id and start time mean something. Undefined: none that it can see. */
export function ownSpace(): string | undefined {
  const [pids, times] = [tryLink('/proc/self/ns/pid'), tryLink('/proc/self/ns/time')];
  return processSpace({ status: tryRead('/proc/self/status') ?? '', pids, times, pid: process.pid });
}

function after(delayMs: number, task: () => void): Cancel {
  const timer = setTimeout(task, Math.max(delayMs, 1));
  return () => clearTimeout(timer);
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}

function tryLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
