/** A process that runs batches of worlds of members without a store, one after the other, as it is told to by its parent. */

import { runBatch, unmet } from '../../../packages/peer/test/simulation/batch.ts';
import type { Seeds } from './workers.ts';

/** What came of a batch, as plain data. */
export interface PeerSummary {
  readonly worlds: number;
  readonly events: number;
  readonly elected: number;
  readonly faults: number;
  /** The longest that calm took to have a leader that all see, in longest election timeouts. */
  readonly recoveredAfter: number;
  /** What went wrong, each as a sentence. */
  readonly problems: readonly string[];
}

Error.stackTraceLimit = 0;

function summaryOf({ start, count }: Seeds): PeerSummary {
  const { worlds, events, counts, recoveredAfter, failed } = runBatch(start, count);
  const faults = Object.entries(counts).reduce((sum, [name, times]) => sum + (name.startsWith('struck ') ? times : 0), 0);
  const broken = failed.map(({ plan, violations: [first] }) => `seed ${plan.seed}: ${first?.promise} (${first?.what})`);
  const missing = unmet(counts, false).map((name) => `it never happened: ${name}`);
  return { worlds, events, elected: counts['elected'] ?? 0, faults, recoveredAfter, problems: [...broken, ...missing] };
}

process.on('message', (batch: Seeds) => process.send?.(summaryOf(batch)));

// Nobody is left to tell.
process.on('disconnect', () => process.exit(0));
