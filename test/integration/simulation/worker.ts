/** A process that runs batches of worlds, one after the other, as it is told to by its parent. */

import { runBatch } from '@incumbent/simulator';
import type { Batch } from './workers.ts';

// Nobody reads the stacks of the errors that a world is full of, and making them takes a sixth of
// the time.
Error.stackTraceLimit = 0;

process.on('message', ({ profile, start, count }: Batch) => {
  void runBatch(profile, start, count).then((summary) => process.send?.(summary));
});

// Nobody is left to tell.
process.on('disconnect', () => process.exit(0));
