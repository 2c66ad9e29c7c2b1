/** Whether nothing of a process group is left that runs. */

import { readdirSync, readFileSync } from 'node:fs';

/**
 * True when no process of the group is there, or only zombies, which do nothing any more: nobody may ever collect them, as in a container without an init. Where
 * there is no `/proc`, a zombie counts as one that runs.
 */
export function groupIsGone(id: number): boolean {
  try {
    process.kill(-id, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
  const processes = listProcesses();
  return processes !== undefined && !processes.some((pid) => runsIn(pid, id));
}

function listProcesses(): readonly string[] | undefined {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.length === 0 ? undefined : pids;
  } catch {
    return undefined;
  }
}

/** The fields behind the program's name, which may have spaces and brackets in it: state, parent, group. See proc(5). */
function runsIn(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, , of] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(of) === group && state !== 'Z' && state !== 'X';
  } catch {
    return false;
  }
}
