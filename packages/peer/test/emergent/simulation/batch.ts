/**
 * `node --conditions=@incumbent/source packages/peer/test/emergent/simulation/batch.ts [first] [count]`: worlds by seed; tells how many, what happened in them, and every
 * one that broke a promise. With `--tell SEED`: one of them, as a timeline.
 */

import { kinds, planOf } from './plan.ts';
import { run, type Outcome } from './world.ts';

export interface Batch {
  readonly worlds: number;
  readonly events: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
  readonly failed: readonly Outcome[];
}

/** What 1,000 worlds have met, whichever they are, or they show nothing. (A leader that ends by `clockJump` is in two of 1,000, or in none.) */
const always: readonly string[] = [
  ...['elected', 'two believe', 'joined', 'left', 'changed', 'failed joinFailed'],
  ...['deadline', 'resigned', 'handover', 'merged', 'notEnoughMembers', 'memberClosed'].map((reason) => `ended ${reason}`),
  ...['join', 'waiting', 'seek', 'update', 'ack', 'heartbeat', 'pull', 'current', 'removed', 'missed', 'ask', 'answer'].map(
    (type) => `sent ${type}`,
  ),
  ...['probe', 'invite', 'merge', 'leave'].map((type) => `sent ${type}`),
  ...kinds.map((kind) => `struck ${kind}`),
];

/** Of what these worlds must have met, what they have not. */
export function unmet(counts: Batch['counts']): readonly string[] {
  return always.filter((name) => counts[name] === undefined);
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
    console.dir(planOf(Number(count)), { depth: 6 });
    console.log(violations);
  } else {
    const begun = performance.now();
    const { failed, ...rest } = runBatch(Number(first), Number(count));
    console.log(JSON.stringify({ ...rest, seconds: Math.round((performance.now() - begun) / 1_000) }, undefined, 1));
    for (const { plan, violations } of failed) console.log(plan.seed, JSON.stringify(violations[0]));
    console.log(unmet(rest.counts), `${failed.length} failed`);
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
}
