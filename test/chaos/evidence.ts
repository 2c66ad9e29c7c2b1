/** Adds a run to the evidence. */

import { append, spreadOf } from '../integration/evidence/runs.ts';
import type { Verdict } from './check/verdict.ts';
import { headerOf, type ChaosEvent } from './history.ts';

/** `only`: the faults that the run was restricted to, as they were given. */
export function enter(history: readonly ChaosEvent[], { figures, violations, missing }: Verdict, only?: string): void {
  const { store, seed, version, forgets, members } = headerOf(history);
  const hasPassed = violations.length === 0 && missing.length === 0;
  append({
    claim: `chaos-${store}`,
    ...(only === undefined ? {} : { part: only }),
    seed,
    passed: hasPassed ? 1 : 0,
    failed: hasPassed ? 0 : 1,
    figures: spreadOf([figures]),
    on: `${store} ${version}${forgets === true ? ' that keeps nothing when it is killed' : ''}, ${members.length} members`,
  });
}
