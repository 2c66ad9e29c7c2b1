/** Proves that a process, or a whole process group, has ended. Without proof it counts as alive. */

import { hasEnded } from '@incumbent/core/adapter';

import type { ProcessId } from './messages.ts';
import { machine, type System } from './system.ts';

/**
 * Whether the process has certainly ended, with all its threads. One of three facts proves it: no
 * process has the id; the process is a zombie without other threads; or another process has the
 * id now, which started at another time.
 */
export function isDead(system: System, { pid, started }: ProcessId): boolean {
  if (system.signal(pid, 0) === 'absent') return true;
  const stat = system.stat(pid);
  return stat !== undefined && (hasEnded(stat) || isReused(stat.started, started));
}

/**
 * Whether no process of the group runs any more. If another process has the group's id now, the
 * group is gone: the kernel does not reuse the id of a group that still has members.
 */
export function isGroupGone(system: System, { pid, started }: ProcessId): boolean {
  if (system.signal(-pid, 0) === 'absent') return true;
  const first = system.stat(pid);
  if (first !== undefined && isReused(first.started, started)) return true;
  const members = (system.processes() ?? []).flatMap((id) => {
    const stat = system.stat(id);
    return stat?.group === pid ? [stat] : [];
  });
  // The signal found a member. If /proc shows none, the member is hidden and counts as alive.
  return members.length > 0 && members.every(hasEnded);
}

/**
 * Sends SIGKILL to the group's present members, unless the group is gone. Returns whether it was
 * there.
 */
export function killGroup(system: System, group: ProcessId): boolean {
  if (isGroupGone(system, group)) return false;
  system.signal(-group.pid, 'SIGKILL');
  return true;
}

/**
 * Whether no process of the group `pgid` runs any more. Zombies, which have ended and wait for
 * their parent to collect them, count as gone. Synchronous; reads `/proc` on Linux.
 */
export function groupIsGone(pgid: number): boolean {
  return isGroupGone(machine, { pid: pgid });
}

function isReused(startedNow: string, started: string | undefined): boolean {
  return started !== undefined && startedNow !== started;
}
