/**
 * `node --conditions=@incumbent/source packages/peer/test/simulation/batch.ts [first] [count]`: worlds by seed; tells how many, what happened in them, and
 * every one that broke a promise. With `--tell SEED`: one of them, as a timeline.
 */

import { planOf } from './plan.ts';
import { run, type Outcome } from './world.ts';

export interface Batch {
  readonly worlds: number;
  readonly events: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
  readonly failed: readonly Outcome[];
}

/** What 1,000 worlds have met, whichever they are, or they show nothing. */
const always: readonly string[] = [
  ...['elected', 'returned', 'write unacknowledged', 'sent vote by handover', 'sent stale', 'refused voteAnswer', 'refused preVoteAnswer'],
  ...['deadline', 'termBehind', 'resigned', 'handover'].map((reason) => `ended ${reason}`),
  ...[
    ...['crash', 'badDisk', 'pause', 'block', 'suspend', 'isolate', 'blip', 'split', 'bridge'],
    ...['lossy', 'duplicating', 'slow', 'wallJump', 'setBack'],
  ].map((kind) => `struck ${kind}`),
];

/** What happens in a few of 1,000. */
const seldom: readonly string[] = ['write lost', 'write failed', 'failed', 'ended newerTerm', 'ended clockJump'];

/** Of what these worlds must have met, what they have not; `all`: what happens seldom as well. */
export function unmet(counts: Batch['counts'], all: boolean): readonly string[] {
  return [...always, ...(all ? seldom : [])].filter((name) => counts[name] === undefined);
}

/** One seed in so many is run twice: it is the same run. */
const REPLAY_ONE_IN = 100;

export function runBatch(first: number, count: number): Batch {
  const counts: Record<string, number> = {};
  const failed: Outcome[] = [];
  let [events, recoveredAfter, failedOverAfter] = [0, 0, 0];
  for (let seed = first; seed < first + count; seed += 1) {
    const outcome = run(planOf(seed));
    events += outcome.events;
    recoveredAfter = Math.max(recoveredAfter, outcome.recoveredAfter);
    failedOverAfter = Math.max(failedOverAfter, outcome.failedOverAfter);
    for (const [name, times] of outcome.counts) counts[name] = (counts[name] ?? 0) + times;
    if (outcome.violations.length > 0) failed.push(outcome);
    if (seed % REPLAY_ONE_IN === 0 && run(planOf(seed)).hash !== outcome.hash)
      throw new Error(`seed ${seed} is another run the second time`);
  }
  return { worlds: count, events, counts, recoveredAfter, failedOverAfter, failed };
}

if (import.meta.main) {
  const [first = '1', count = '1000'] = process.argv.slice(2);
  if (first === '--tell') {
    const { violations } = run(planOf(Number(count)), (what, atMs) => console.log(`${String(atMs).padStart(8)} ms  ${what}`));
    console.log(planOf(Number(count)), violations);
  } else {
    const begun = performance.now();
    const { failed, ...rest } = runBatch(Number(first), Number(count));
    console.log(JSON.stringify({ ...rest, seconds: Math.round((performance.now() - begun) / 1_000) }, undefined, 1));
    for (const { plan, violations } of failed) console.log(plan.seed, JSON.stringify(violations[0]));
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
}
