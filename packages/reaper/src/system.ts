/** What the reaper asks of the operating system: an interface, so that tests can replace it. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

import type { Cancel, Clock } from '@incumbent/core';
import { parseStat, processSpace, type ProcessStat } from '@incumbent/core/adapter';

export interface System {
  /** `monotonic()` is the machine's clock, the same in all processes. */
  readonly clock: Clock;
  /**
   * Sends a signal to a process, or to a group by its negated id; 0 only checks. `absent` means
   * that no such process or group exists.
   */
  signal(pid: number, signal: 'SIGKILL' | 0): 'sent' | 'absent' | 'denied';
  /** Undefined if the process does not exist or cannot be seen. */
  stat(pid: number): ProcessStat | undefined;
  /** The ids of all visible processes. Undefined on systems without `/proc`. */
  processes(): readonly number[] | undefined;
}

export const machine: System = {
  clock: {
    // Not performance.now(), which starts at zero in every process.
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
      // EPERM: it exists, and belongs to another user.
      return error instanceof Error && 'code' in error && error.code === 'ESRCH' ? 'absent' : 'denied';
    }
  },
  stat: (pid) => parseStat(tryRead(`/proc/${pid}/stat`) ?? ''),
  processes: () => orUndefined(() => readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))),
};

/**
 * Names the namespaces in which this process's id and start time are valid. Undefined if `/proc`
 * does not show them.
 */
export function ownNamespaces(): string | undefined {
  return processSpace({ pid: process.pid, read: tryRead, readLink: (path) => orUndefined(() => readlinkSync(path)) });
}

function after(delayMs: number, task: () => void): Cancel {
  const timer = setTimeout(task, Math.max(delayMs, 1));
  return () => clearTimeout(timer);
}

function tryRead(path: string): string | undefined {
  return orUndefined(() => readFileSync(path, 'latin1'));
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
