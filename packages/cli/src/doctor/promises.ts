/** What the store promises, and what a ttl means on it. */

import type { Store } from '@incumbent/core';

import { showDuration } from '../duration.ts';
import { longestGraceMs } from '../run/timing.ts';
import { ok, warning, type Finding } from './finding.ts';

export function promises(store: Store, ttlMs: number): readonly Finding[] {
  const { linearizable, endsEarly, minTtlMs, maxTtlMs, assignableLease, expiresOnExitWithinMs } = store.capabilities;
  const expiresWithinMs = store.capabilities.expiresWithinMs(ttlMs);
  const findings = [
    linearizable
      ? ok('linearizable', 'yes')
      : warning(
          'linearizable',
          'no: after a failover of its servers two members may lead, or a term be issued twice; elections must accept it by name',
        ),
    ok('smallest ttl', `${showDuration(minTtlMs)} (largest ${showDuration(maxTtlMs)})`, { minTtlMs, maxTtlMs }),
    ok(
      `ttl ${showDuration(ttlMs)}`,
      `a silent leader is replaced within ${showDuration(expiresWithinMs)}; the longest grace of run is ${showDuration(longestGraceMs(ttlMs, store))}`,
      { ttlMs, expiresWithinMs },
    ),
    ok('handover', assignableLease ? 'in one step, the election never vacant' : 'in two steps'),
  ];
  if (expiresOnExitWithinMs !== undefined)
    findings.push(ok('crash', `a dead process is replaced within ${showDuration(expiresOnExitWithinMs)}`));
  if (endsEarly !== undefined) findings.push(warning('ends leases early', endsEarly));
  return findings;
}
