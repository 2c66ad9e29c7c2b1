/**
 * Identifies this machine and its boot, and reads a clock that is the same in all processes of the
 * machine.
 */

import { readFileSync, readlinkSync } from 'node:fs';

import { processSpace } from '@incumbent/core/adapter';

export interface Host {
  /** The machine's id, which survives reboots. Empty if unknown, as in most containers. */
  readonly machine: string;
  /**
   * The id of this boot of the machine. Empty if unknown. A container manager may give each
   * container an id of its own.
   */
  readonly boot: string;
  /**
   * The namespaces within which a process id and a start time identify a process. Absent where the
   * death of a process cannot be seen.
   */
  readonly space?: string;
  /** Microseconds of the host's monotonic clock, which is the same in all processes of a boot. */
  nowUs(): number;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const MACHINE_IDS = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

export function readHost(): Host {
  const offsetUs = clockOffsetUs(tryRead('/proc/self/timens_offsets') ?? '');
  const space = processSpace({ pid: process.pid, read: tryRead, readLink: (path) => orUndefined(() => readlinkSync(path)) });
  return {
    machine: MACHINE_IDS.map(tryRead).find((id) => id !== undefined && id !== '') ?? '',
    boot: tryRead(BOOT_ID) ?? '',
    ...(space === undefined ? {} : { space }),
    // Not performance.now(), which counts from the start of the process.
    nowUs: () => Number(process.hrtime.bigint() / 1_000n) - offsetUs,
  };
}

/**
 * How far the time namespace of this process has moved the monotonic clock, in microseconds.
 * `offsets` is the content of the kernel's `timens_offsets`.
 */
export function clockOffsetUs(offsets: string): number {
  const [, seconds, nanoseconds] = /^monotonic\s+(-?\d+)\s+(\d+)$/m.exec(offsets) ?? [];
  return Number(seconds ?? 0) * 1e6 + Math.floor(Number(nanoseconds ?? 0) / 1e3);
}

function tryRead(path: string): string | undefined {
  return orUndefined(() => readFileSync(path, 'latin1').trim());
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
