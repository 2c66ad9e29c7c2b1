/** The resources that a process uses, as the kernel reports them: comparable for every language. */

import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  readonly rssKb: number;
  /** User and system time so far, in ms, of the process and the children that it waits for. */
  readonly cpuMs: number;
}

/** USER_HZ, which is fixed on Linux in what user space sees. */
const TICK_MS = 10;

/**
 * Of a process and all its descendants: the driver of a command line tool is one process, and the
 * tool another.
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
    // The process has ended meanwhile.
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

/** The fields of /proc/pid/stat after the name, which may contain spaces: state, parent, … */
function statOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
