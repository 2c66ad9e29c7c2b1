/** A process that runs batches of worlds of members that come and go, one after the other, as it is told to by its parent. */

import { runBatch, unmet } from '../../../packages/peer/test/emergent/simulation/batch.ts';
import type { PeerSummary } from './peer-worker.ts';
import type { Seeds } from './workers.ts';

export interface EmergentSummary extends PeerSummary {
  /** From a coordinator's crash until all agreed again, at most, in failure timeouts. */
  readonly failedOverAfter: number;
  /** How often somebody was elected while another one believed, as best effort allows. */
  readonly twoBelieved: number;
}

Error.stackTraceLimit = 0;

function summaryOf({ start, count }: Seeds): EmergentSummary {
  const { worlds, events, counts, recoveredAfter, failedOverAfter, failed } = runBatch(start, count);
  const faults = Object.entries(counts).reduce((sum, [name, times]) => sum + (name.startsWith('struck ') ? times : 0), 0);
  const broken = failed.map(({ plan, violations: [first] }) => `seed ${plan.seed}: ${first?.promise} (${first?.what})`);
  const missing = unmet(counts).map((name) => `it never happened: ${name}`);
  const [elected, twoBelieved] = [counts['elected'] ?? 0, counts['two believe'] ?? 0];
  return { worlds, events, elected, twoBelieved, faults, recoveredAfter, failedOverAfter, problems: [...broken, ...missing] };
}

process.on('message', (batch: Seeds) => process.send?.(summaryOf(batch)));

// Nobody is left to tell.
process.on('disconnect', () => process.exit(0));
