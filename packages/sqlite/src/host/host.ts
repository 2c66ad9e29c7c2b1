/** This machine, as the processes on it agree on it: which it is, which of its boots this is, and a clock that all of them read alike. */

import { readFileSync, readlinkSync } from 'node:fs';

import { processSpace } from '@incumbent/core/adapter';

export interface Host {
  /** Stays over reboots; empty where it cannot be told, as in most containers. */
  readonly machine: string;
  /** Of this boot, in all processes that read the same; empty where it cannot be told. Containers may be given one of their own. */
  readonly boot: string;
  /** The namespaces within which a process id and its start time mean the same. Absent where a process's death cannot be seen. */
  readonly space?: string;
  /** Microseconds on the host's monotonic clock: never set, the same in every process of this boot. */
  nowUs(): number;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const MACHINE_IDS = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

export function readHost(): Host {
  const offsetUs = clockOffsetUs(tryRead('/proc/self/timens_offsets') ?? '');
  const space = ownSpace();
  return {
    machine: MACHINE_IDS.map(tryRead).find((id) => id !== undefined && id !== '') ?? '',
    boot: tryRead(BOOT_ID) ?? '',
    ...(space === undefined ? {} : { space }),
    // Not performance.now(), whose zero is the process's own start.
    nowUs: () => Number(process.hrtime.bigint() / 1_000n) - offsetUs,
  };
}

/** How far this process's time namespace has moved the monotonic clock, by the words of the kernel's `timens_offsets`. */
export function clockOffsetUs(offsets: string): number {
  const [, seconds, nanoseconds] = /^monotonic\s+(-?\d+)\s+(\d+)$/m.exec(offsets) ?? [];
  return Number(seconds ?? 0) * 1e6 + Math.floor(Number(nanoseconds ?? 0) / 1e3);
}

function ownSpace(): string | undefined {
  const [pids, times] = [tryLink('/proc/self/ns/pid'), tryLink('/proc/self/ns/time')];
  return processSpace({ status: tryRead('/proc/self/status') ?? '', pids, times, pid: process.pid });
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    return undefined;
  }
}

function tryLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
