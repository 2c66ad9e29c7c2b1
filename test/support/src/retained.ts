/** How much memory values retain, as the garbage collector reports it. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Bytes that this process uses for objects and buffers after garbage collection. */
function usedBytes(): number {
  runInNewContext('gc()');
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How many more bytes are in use after `task` than before it, while its result is alive. */
export function retainedBytes(task: () => unknown): number {
  const before = usedBytes();
  const kept = [task()];
  const after = usedBytes();
  kept.length = 0;
  return after - before;
}
