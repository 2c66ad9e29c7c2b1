/** Runs batches of worlds of a hundred members, like `peer-worker.ts`. */

import { crowd } from '../../../packages/peer/test/emergent/crowd.ts';
import type { Seeds } from './workers.ts';

export interface CrowdSummary {
  readonly worlds: number;
  readonly messages: number;
  /** How long each phase took at most, in failure timeouts. */
  readonly joined: number;
  readonly failed: number;
  readonly split: number;
  readonly merged: number;
  readonly problems: readonly string[];
}

Error.stackTraceLimit = 0;

async function summaryOf({ start, count }: Seeds): Promise<CrowdSummary> {
  const problems: string[] = [];
  const most = { messages: 0, joined: 0, failed: 0, split: 0, merged: 0 };
  for (let seed = start; seed < start + count; seed += 1) {
    const outcome = await crowd(seed);
    problems.push(...outcome.problems.map((problem) => `seed ${seed}: ${problem}`));
    most.messages += outcome.messages;
    for (const phase of ['joined', 'failed', 'split', 'merged'] as const) most[phase] = Math.max(most[phase], outcome[phase]);
  }
  return { worlds: count, ...most, problems };
}

process.on('message', (batch: Seeds) => void summaryOf(batch).then((summary) => process.send?.(summary)));

process.on('disconnect', () => process.exit(0));
