/** What proves that a process, or all of a process group, has ended. In doubt it lives. */

import { hasEnded } from '@incumbent/core/adapter';

import type { LifeOf } from './messages.ts';
import type { System } from './system.ts';

/**
 * Whether this life is certainly over, with every thread of it: there is no process of its id; or it has ended and waits for its parent; or the id is
 * another's by now, which started at another time.
 */
export function isDead(system: System, { pid, started }: LifeOf): boolean {
  if (system.signal(pid, 0) === 'absent') return true;
  const stat = system.stat(pid);
  return stat !== undefined && (hasEnded(stat) || isAnother(stat.started, started));
}

/** Whether nothing of the process group is left. One whose id has another process now was gone before: ids of groups that have members are not given away. */
export function isGroupGone(system: System, { pid, started }: LifeOf): boolean {
  if (system.signal(-pid, 0) === 'absent') return true;
  const first = system.stat(pid);
  if (first !== undefined && isAnother(first.started, started)) return true;
  const members = (system.processes() ?? []).flatMap((id) => {
    const stat = system.stat(id);
    return stat?.group === pid ? [stat] : [];
  });
  // There is something of it: if none can be seen, it is hidden.
  return members.length > 0 && members.every(hasEnded);
}

/** Kills all of the group that is there now. One that is gone already, or whose id is another's, is left alone. */
export function killGroup(system: System, group: LifeOf): void {
  if (!isGroupGone(system, group)) system.signal(-group.pid, 'SIGKILL');
}

function isAnother(startedNow: string, started: string | undefined): boolean {
  return started !== undefined && startedNow !== started;
}
