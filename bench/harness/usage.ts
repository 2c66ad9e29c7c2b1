/** What a process takes, by the kernel's own account: the same for every language. */

import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  readonly rssKb: number;
  /** User and system time so far, in ms, of the process and the children that it waits for. */
  readonly cpuMs: number;
}

/** USER_HZ, which Linux fixes for what it tells user space. */
const TICK_MS = 10;

/**
 * Of a process and of all below it: a command line tool's driver is one process, the tool another.
 */
export function processUsage(pid: number): Usage {
  const parts = [pid, ...childrenOf(pid)].map(one);
  return { rssKb: sum(parts.map(({ rssKb }) => rssKb)), cpuMs: sum(parts.map(({ cpuMs }) => cpuMs)) };
}

function one(pid: number): Usage {
  try {
    const [, rss = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return { rssKb: Number(rss), cpuMs: TICK_MS * sum(statOf(pid).slice(11, 15).map(Number)) };
  } catch {
    // It has ended meanwhile.
    return { rssKb: 0, cpuMs: 0 };
  }
}

function childrenOf(pid: number): readonly number[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  const children = all.filter((other) => parentOf(other) === pid);
  return [...children, ...children.flatMap(childrenOf)];
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return undefined;
  }
}

/** The fields of /proc/pid/stat after the name, which may have spaces: state, parent, … */
function statOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
