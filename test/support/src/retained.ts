/** How much memory values keep, told by the garbage collector and not by a clock. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Bytes that this process uses for objects and buffers, once garbage is gone. */
function usedBytes(): number {
  runInNewContext('gc()');
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * How many bytes are in use after `task`, while its result is alive, beyond what was in use before
 * it.
 */
export function retainedBytes(task: () => unknown): number {
  const before = usedBytes();
  const kept = [task()];
  const after = usedBytes();
  kept.length = 0;
  return after - before;
}
