/**
 * `pnpm --filter @incumbent/peer planted [worlds]`: plants every bug, searches for it, and records
 * in the evidence how many worlds that took. Exits with a code other than 0 if a bug was not found.
 */

import { append, spreadOf } from '../../../../test/integration/evidence/runs.ts';
import { runBatch } from '../simulation/batch.ts';
import { simulationOf } from '../simulation/simulations.ts';
import { bestEffortBugs } from './best-effort-bugs.ts';
import { emergentBugs } from './emergent-bugs.ts';
import { find } from './find.ts';
import { quorumBugs } from './quorum-bugs.ts';

const most = Number(process.argv[2] ?? 6_000);
/** For each algorithm: the most worlds that one of its bugs took. */
const longest = new Map<string, number>();

for (const bug of [...quorumBugs, ...bestEffortBugs, ...emergentBugs]) {
  const { worlds, promise } = await find(bug, most);
  if (promise === undefined) process.exitCode = 1;
  longest.set(bug.on, Math.max(longest.get(bug.on) ?? 0, worlds));
  console.log(`${bug.name} (${bug.about}): ${promise === undefined ? `NOT FOUND in ${worlds} worlds` : `${worlds} worlds, ${promise}`}`);
  append({
    claim: 'planted-bugs-peer',
    part: `${bug.on} ${bug.name}`,
    seed: worlds,
    passed: promise === undefined ? 0 : 1,
    failed: promise === undefined ? 1 : 0,
    figures: spreadOf([{ worlds }]),
    ...(promise === undefined ? {} : { promise }),
  });
}
for (const [on, worlds] of longest)
  for (const { plan } of runBatch(simulationOf(on), 1, worlds).failed)
    throw new Error(`without any bug, seed ${plan.seed} of ${on} breaks a promise`);
