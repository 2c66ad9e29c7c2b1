/** A process that runs batches of worlds, one after the other, as its parent orders. */

import { runBatch } from '@incumbent/simulator';
import type { Batch } from './workers.ts';

// Nobody reads the stack traces of the many errors in a world, and creating them takes a sixth of
// the time.
Error.stackTraceLimit = 0;

process.on('message', ({ profile, start, count }: Batch) => {
  void runBatch(profile, start, count).then((summary) => process.send?.(summary));
});

// The parent has ended.
process.on('disconnect', () => process.exit(0));
