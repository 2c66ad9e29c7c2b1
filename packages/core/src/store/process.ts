/**
 * Parses what Linux reports about processes in `/proc` (see proc(5)). The callers read the files,
 * because core does no I/O.
 */

/** The state of one process, from `/proc/<pid>/stat`. */
export interface ProcessStat {
  /** `R`, `S`, `T`, …. `Z` and `X` mean that the process has ended. */
  readonly state: string;
  /** The id of the process group. */
  readonly group: number;
  /**
   * The number of threads, including the first one. The first thread may have ended while others
   * still run.
   */
  readonly threads: number;
  /**
   * The time of its start, in the kernel's units. It distinguishes the process from a later one
   * with the same id.
   */
  readonly started: string;
}

/**
 * Parses `/proc/<pid>/stat`. Returns undefined for any other text. The name in the second field may
 * contain spaces and brackets, so the fields are counted from the last bracket.
 */
export function parseStat(stat: string): ProcessStat | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, group, threads, started] = [fields[0], fields[2], fields[17], fields[19]];
  if (state === undefined || started === undefined) return undefined;
  return { state, group: Number(group), threads: Number(threads), started };
}

/**
 * True if all threads of the process have ended. During a kill, the first thread may end before the
 * others.
 */
export function hasEnded({ state, threads }: ProcessStat): boolean {
  return (state === 'Z' || state === 'X') && threads <= 1;
}

/** How a process reads `/proc`, and its own id. */
export interface ProcessFiles {
  /** `process.pid`. */
  readonly pid: number;
  /** The text of a file. Undefined if it cannot be read. */
  read(path: string): string | undefined;
  /** The target of a link. Undefined if there is no such link. */
  readLink(path: string): string | undefined;
}

/**
 * Names the namespaces in which process ids and start times are comparable: two processes can
 * compare theirs if this function gives both the same text. Start times depend on the reader's time
 * namespace, so the name contains that namespace, if the kernel has one. Undefined if `/proc` shows
 * another namespace's view: then `/proc/self/status` contains several ids for this process, or
 * another one.
 */
export function processSpace({ pid, read, readLink }: ProcessFiles): string | undefined {
  const [pids, times] = [readLink('/proc/self/ns/pid'), readLink('/proc/self/ns/time')];
  const status = read('/proc/self/status') ?? '';
  const ids = /^NSpid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/);
  if (pids === undefined || ids?.length !== 1 || ids[0] !== String(pid)) return undefined;
  return `${pids} ${times ?? ''}`;
}
