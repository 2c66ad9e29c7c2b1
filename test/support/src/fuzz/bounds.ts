/** The limits for reading one input. */

import { getHeapStatistics } from 'node:v8';

/**
 * Processor time, so that other programs do not count. A second is a thousand times what the
 * slowest reader needs.
 */
const MAX_CPU_MS = 1_000;
const MAX_BYTES = 64 * 2 ** 20;

/**
 * Starts a measurement. The returned function ends it, and throws a `RangeError` if a limit was
 * exceeded.
 */
export function measure(): () => void {
  const before = bytesInUse();
  const cpu = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(cpu);
    const [cpuMs, bytes] = [(user + system) / 1_000, bytesInUse() - before];
    if (cpuMs > MAX_CPU_MS) throw new RangeError(`reading the input took ${Math.round(cpuMs)} ms, more than ${MAX_CPU_MS}`);
    if (bytes > MAX_BYTES) throw new RangeError(`reading the input took ${bytes} bytes of memory, more than ${MAX_BYTES}`);
  };
}

function bytesInUse(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}
