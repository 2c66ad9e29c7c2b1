/**
 * What the kernel of Linux tells of processes, as text of proc(5). Read by whoever may read files.
 */

/** Of one process, from `/proc/<pid>/stat`. */
export interface ProcessStat {
  /** `R`, `S`, `T`, …; `Z` and `X`: it has ended. */
  readonly state: string;
  /** The process group's id. */
  readonly group: number;
  /**
   * How many threads it has, itself among them: a process that has ended may have some that have
   * not.
   */
  readonly threads: number;
  /** When it started, in the kernel's own units: tells it from another that has its id later. */
  readonly started: string;
}

/**
 * The name in the second field may have spaces and brackets in it: the fields are counted from its
 * last bracket. Undefined for what is no such text.
 */
export function parseStat(stat: string): ProcessStat | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, group, threads, started] = [fields[0], fields[2], fields[17], fields[19]];
  if (state === undefined || started === undefined) return undefined;
  return { state, group: Number(group), threads: Number(threads), started };
}

/**
 * Whether all of a process has ended, and it merely waits for its parent to ask: the first thread
 * may have ended before others, as by a kill in their middle.
 */
export function hasEnded({ state, threads }: ProcessStat): boolean {
  return (state === 'Z' || state === 'X') && threads <= 1;
}

export interface Namespaces {
  /** `/proc/self/status`. */
  readonly status: string;
  /** Where `/proc/self/ns/pid` and `/proc/self/ns/time` lead; undefined: to nowhere. */
  readonly pids: string | undefined;
  readonly times: string | undefined;
  /** What the process itself takes for its id. */
  readonly pid: number;
}

/**
 * The namespaces within which a process id and its start time mean the same; undefined where they
 * mean nothing to this process. Start times are told in the reader's own time namespace, so that
 * both must be the same. A kernel without the latter has one for all. What is mounted at /proc may
 * be another namespace's view: `status` then tells of this process by more than one id.
 */
export function processSpace({ status, pids, times, pid }: Namespaces): string | undefined {
  const ids = /^NSpid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/);
  if (pids === undefined || ids?.length !== 1 || ids[0] !== String(pid)) return undefined;
  return `${pids} ${times ?? ''}`;
}

/**
 * The URL of a module that lies beside the one at `url`, by its name without the ending: to be
 * loaded by another process.
 */
export function moduleBeside(url: string, name: string): string {
  return url.slice(0, url.lastIndexOf('/') + 1) + name + url.slice(url.lastIndexOf('.'));
}
