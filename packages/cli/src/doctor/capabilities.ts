/** Reports what the store guarantees, and how long failovers take with the given ttl. */

import type { Store } from '@incumbent/core';

import { showDuration } from '../common/duration.ts';
import { longestGraceMs } from '../run/timing.ts';
import { ok, warning, type Finding } from './finding.ts';

export function checkCapabilities(store: Store, ttlMs: number): readonly Finding[] {
  const { linearizable, endsEarly, minTtlMs, maxTtlMs, assignableLease, expiresOnExitWithinMs } = store.capabilities;
  const expiresWithinMs = store.capabilities.expiresWithinMs(ttlMs);
  const findings = [
    linearizable
      ? ok('linearizable', 'yes')
      : warning(
          'linearizable',
          'no: after a failover of its servers two members may lead, or a term may be issued twice; elections need acceptWeakStore',
        ),
    ok('smallest ttl', `${showDuration(minTtlMs)} (largest ${showDuration(maxTtlMs)})`, { minTtlMs, maxTtlMs }),
    ok(
      `ttl ${showDuration(ttlMs)}`,
      `a silent leader is replaced within ${showDuration(expiresWithinMs)}; run can have a --grace of up to ${showDuration(longestGraceMs(ttlMs, store))}`,
      { ttlMs, expiresWithinMs },
    ),
    ok('handover', assignableLease ? 'in one step: the election is never vacant' : 'in two steps: the election is vacant in between'),
  ];
  if (expiresOnExitWithinMs !== undefined)
    findings.push(ok('crash', `a leader whose process has died is replaced within ${showDuration(expiresOnExitWithinMs)}`));
  if (endsEarly !== undefined) findings.push(warning('ends leases early', endsEarly));
  return findings;
}
