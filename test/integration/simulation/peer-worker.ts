/**
 * A process that runs batches of worlds of members without a store, one after the other, as its
 * parent orders.
 */

import { runBatch, unmet } from '../../../packages/peer/test/simulation/batch.ts';
import { simulationOf } from '../../../packages/peer/test/simulation/simulations.ts';
import type { PeerSeeds } from './workers.ts';

/** The results of a batch, as plain data. */
export interface PeerSummary {
  readonly worlds: number;
  readonly events: number;
  readonly elected: number;
  /** How often two members were valid leaders at once, where best effort allows it. */
  readonly twoLed?: number;
  readonly faults: number;
  /**
   * The longest time from calm, and from a leader's crash, until there was a leader again, in the
   * algorithm's unit of time.
   */
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
  /** The problems, each as a sentence. */
  readonly problems: readonly string[];
}

Error.stackTraceLimit = 0;

function summaryOf({ on, start, count }: PeerSeeds): PeerSummary {
  const simulation = simulationOf(on);
  const { worlds, events, counts, recoveredAfter, failedOverAfter, failed } = runBatch(simulation, start, count);
  const faults = Object.entries(counts).reduce((sum, [name, times]) => sum + (name.startsWith('injected ') ? times : 0), 0);
  const broken = failed.map(({ plan, violations: [first] }) => `seed ${plan.seed}: ${first?.promise} (${first?.what})`);
  const missing = unmet(simulation, counts, false).map((name) => `it never happened: ${name}`);
  const elected = counts['elected'] ?? 0;
  const two = counts['two valid leaders'];
  const shown = two === undefined ? {} : { twoLed: two };
  return { worlds, events, elected, ...shown, faults, recoveredAfter, failedOverAfter, problems: [...broken, ...missing] };
}

process.on('message', (batch: PeerSeeds) => process.send?.(summaryOf(batch)));

// The parent has ended.
process.on('disconnect', () => process.exit(0));
