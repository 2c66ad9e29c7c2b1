/** A process that runs batches of worlds of members without a store, one after the other, as it is told to by its parent. */

import { runBatch as runBestEffort, unmet as unmetBestEffort } from '../../../packages/peer/test/best-effort/batch.ts';
import { runBatch, unmet } from '../../../packages/peer/test/simulation/batch.ts';
import type { PeerSeeds } from './workers.ts';

/** What came of a batch, as plain data. */
export interface PeerSummary {
  readonly worlds: number;
  readonly events: number;
  readonly elected: number;
  readonly faults: number;
  /** The longest that calm took to have a leader that all see, in longest election timeouts, or in failure timeouts. */
  readonly recoveredAfter: number;
  /** By best effort: how often two were seen to believe at once. */
  readonly twoBelieved?: number;
  /** What went wrong, each as a sentence. */
  readonly problems: readonly string[];
}

Error.stackTraceLimit = 0;

function summaryOf({ start, count, on }: PeerSeeds): PeerSummary {
  const batch = on === undefined ? runBatch(start, count) : runBestEffort(on, start, count);
  const { worlds, events, counts, recoveredAfter, failed } = batch;
  const faults = Object.entries(counts).reduce((sum, [name, times]) => sum + (name.startsWith('struck ') ? times : 0), 0);
  const broken = failed.map(({ plan, violations: [first] }) => `seed ${plan.seed}: ${first?.promise} (${first?.what})`);
  const missing = (on === undefined ? unmet(counts, false) : unmetBestEffort(on, counts)).map((name) => `it never happened: ${name}`);
  const shown = on === undefined ? {} : { twoBelieved: counts['two believe'] ?? 0 };
  return { worlds, events, elected: counts['elected'] ?? 0, faults, recoveredAfter, ...shown, problems: [...broken, ...missing] };
}

process.on('message', (batch: PeerSeeds) => process.send?.(summaryOf(batch)));

// Nobody is left to tell.
process.on('disconnect', () => process.exit(0));
