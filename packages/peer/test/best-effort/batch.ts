/**
 * `node --conditions=@incumbent/source packages/peer/test/best-effort/batch.ts ALGORITHM [first] [count]`: worlds by seed; tells how many, what happened in them,
 * and every one that broke a promise. With `--tell SEED`: one of them, as a timeline.
 */

import type { Batch } from '../simulation/batch.ts';
import { names, type Name } from './algorithms.ts';
import { planOf } from './plan.ts';
import { run, type Outcome } from './world.ts';

export type BestEffortBatch = Omit<Batch, 'failed'> & { readonly failed: readonly Outcome[] };

/** What 1,000 worlds have met, whichever they are, or they show nothing. */
const always: readonly string[] = [
  ...['elected', 'two believe', 'sent heartbeat', 'sent heartbeatAnswer', 'sent resigned', 'sent handover'],
  ...['farewell by resigning', 'farewell by handing over'],
  ...['deadline', 'superseded', 'resigned', 'handover'].map((reason) => `ended ${reason}`),
  ...[
    ...['crash', 'pause', 'block', 'suspend', 'isolate', 'blip', 'split', 'bridge', 'lossy', 'duplicating', 'slow'],
    ...['wallJump', 'setBack'],
  ].map((kind) => `struck ${kind}`),
];

const own: Readonly<Record<Name, readonly string[]>> = {
  bully: ['election', 'alive', 'grant', 'elected'],
  nextInLine: ['takeOver', 'election', 'alive', 'grant', 'elected'],
  candidateOrdinary: ['poll', 'alive', 'elected'],
  invitation: ['invite', 'accept', 'redirect', 'moved'],
  ring: ['collect', 'announce', 'passed'],
};

/** Of what these worlds must have met, what they have not. */
export function unmet(name: Name, counts: Batch['counts']): readonly string[] {
  return [...always, ...own[name].map((type) => `sent ${type}`)].filter((what) => counts[what] === undefined);
}

/** One seed in so many is run twice: it is the same run. */
const REPLAY_ONE_IN = 100;

export function runBatch(name: Name, first: number, count: number): BestEffortBatch {
  const counts: Record<string, number> = {};
  const failed: Outcome[] = [];
  let [events, recoveredAfter, failedOverAfter] = [0, 0, 0];
  for (let seed = first; seed < first + count; seed += 1) {
    const outcome = run(planOf(name, seed));
    events += outcome.events;
    recoveredAfter = Math.max(recoveredAfter, outcome.recoveredAfter);
    failedOverAfter = Math.max(failedOverAfter, outcome.failedOverAfter);
    for (const [what, times] of outcome.counts) counts[what] = (counts[what] ?? 0) + times;
    if (outcome.violations.length > 0) failed.push(outcome);
    if (seed % REPLAY_ONE_IN === 0 && run(planOf(name, seed)).hash !== outcome.hash)
      throw new Error(`seed ${seed} of ${name} is another run the second time`);
  }
  return { worlds: count, events, counts, recoveredAfter, failedOverAfter, failed };
}

function main([name = '', first = '1', count = '1000']: readonly string[]): void {
  const chosen = names.find((one) => one === name);
  if (chosen === undefined) throw new Error(`usage: batch.ts ${names.join('|')} [first] [count], or --tell SEED`);
  if (first === '--tell') {
    const plan = planOf(chosen, Number(count));
    const { violations } = run(plan, (what, atMs) => console.log(`${String(atMs).padStart(8)} ms  ${what}`));
    console.log(plan, violations);
    return;
  }
  const begun = performance.now();
  const { failed, ...rest } = runBatch(chosen, Number(first), Number(count));
  console.log(JSON.stringify({ ...rest, seconds: Math.round((performance.now() - begun) / 1_000) }, undefined, 1));
  console.log(failed.length, 'failed');
  for (const { plan, violations } of failed.slice(0, 10)) console.log(plan.seed, JSON.stringify(violations[0]));
  process.exitCode = failed.length > 0 ? 1 : 0;
}

if (import.meta.main) main(process.argv.slice(2));
