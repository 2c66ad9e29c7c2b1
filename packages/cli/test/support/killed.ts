/**
 * Which processes have not been killed yet, from Linux's /proc. A killed process counts as killed
 * even if it has not had processor time to end.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnded, parseStat } from '@incumbent/core/adapter';

/** `PF_EXITING` of the flags in `proc_pid_stat(5)`: the process is ending. */
const EXITING = 0x4;
/** SIGKILL, the ninth signal, in SigPnd of `proc_pid_status(5)`. */
const KILL = 1n << 8n;
/** For a moment after it took the signal, a process shows neither. In ms. */
const BETWEEN_MS = 5;

/** The processes of a group that have not been killed. */
export async function unkilled(group: number): Promise<readonly number[]> {
  const found = processesOf(group);
  if (found.length === 0) return found;
  await sleep(BETWEEN_MS);
  const again = processesOf(group);
  return found.filter((pid) => again.includes(pid));
}

function processesOf(group: number): readonly number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((pid) => isRunning(pid, group));
}

function isRunning(pid: number, group: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const stat = parseStat(text);
    const flags = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[6]);
    if (stat?.group !== group || hasEnded(stat) || (flags & EXITING) !== 0) return false;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return [...status.matchAll(/^S\w*Pnd:\t([0-9a-f]+)$/gm)].every(([, pending]) => (BigInt(`0x${pending}`) & KILL) === 0n);
  } catch {
    return false; // It has ended meanwhile.
  }
}
