/** Whether processes have been killed, whether or not a processor had time for their end: Linux's /proc. */

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnded, parseStat } from '@incumbent/core/adapter';

/** `proc_pid_stat(5)`, flags: it is on its way out. */
const EXITING = 0x4;
/** `proc_pid_status(5)`, SigPnd: the ninth signal, SIGKILL. */
const KILL = 1n << 8n;
/** A process that has just taken its signal shows neither for a moment. */
const BETWEEN_MS = 5;

/** Those of a group of processes that nobody has killed. */
export async function unkilled(group: number): Promise<readonly number[]> {
  const found = lookFor(group);
  if (found.length === 0) return found;
  await sleep(BETWEEN_MS);
  const again = lookFor(group);
  return found.filter((pid) => again.includes(pid));
}

function lookFor(group: number): readonly number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((pid) => runsOn(pid, group));
}

function runsOn(pid: number, group: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const stat = parseStat(text);
    const flags = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[6]);
    if (stat?.group !== group || hasEnded(stat) || (flags & EXITING) !== 0) return false;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return [...status.matchAll(/^S\w*Pnd:\t([0-9a-f]+)$/gm)].every(([, pending]) => (BigInt(`0x${pending}`) & KILL) === 0n);
  } catch {
    return false; // gone meanwhile
  }
}
