/** Reports what the store guarantees, and how long failovers take with the given ttl. */

import type { Store } from '@incumbent/core';
import { MAX_TTL_MS, MIN_TTL_MS } from '@incumbent/core/adapter';

import { showDuration } from '../common/duration.ts';
import { longestGraceMs } from '../run/timing.ts';
import { ok, warning, type Finding } from './finding.ts';

/** The ttls that a member can have on this store. */
export function ttlRangeOf({ capabilities: { minTtlMs, maxTtlMs } }: Store): { readonly minTtlMs: number; readonly maxTtlMs: number } {
  return { minTtlMs: Math.max(minTtlMs, MIN_TTL_MS), maxTtlMs: Math.min(maxTtlMs, MAX_TTL_MS) };
}

export function checkCapabilities(store: Store, ttlMs: number): readonly Finding[] {
  const { linearizable, weakness, endsEarly, assignableLease, expiresOnExitWithinMs } = store.capabilities;
  const { maxValueBytes, maxChanges, maxKeysPerLease } = store.capabilities;
  const { minTtlMs, maxTtlMs } = ttlRangeOf(store);
  const expiresWithinMs = store.capabilities.expiresWithinMs(ttlMs);
  const findings = [
    linearizable
      ? ok('linearizable', 'yes')
      : warning(
          'linearizable',
          `no: ${weakness ?? 'it may lose a write that it has acknowledged'}; two members may then lead, or a term may be issued twice; elections need acceptWeakStore`,
        ),
    ok('smallest ttl', `${showDuration(minTtlMs)} (largest ${showDuration(maxTtlMs)})`, { minTtlMs, maxTtlMs }),
    ok(
      `ttl ${showDuration(ttlMs)}`,
      `a silent leader is replaced within ${showDuration(expiresWithinMs)}; run can have a --grace of up to ${showDuration(longestGraceMs(ttlMs, store))}`,
      { ttlMs, expiresWithinMs },
    ),
    ok('limits', `values of up to ${maxValueBytes} bytes, ${maxChanges} changes in one swap, ${maxKeysPerLease} keys of one lease`, {
      maxValueBytes,
      maxChanges,
      maxKeysPerLease,
    }),
    ok('handover', assignableLease ? 'in one step: the election is never vacant' : 'in two steps: the election is vacant in between'),
  ];
  if (expiresOnExitWithinMs !== undefined)
    findings.push(ok('crash', `a leader whose process has died is replaced within ${showDuration(expiresOnExitWithinMs)}`));
  if (endsEarly !== undefined) findings.push(warning('ends leases early', endsEarly));
  return findings;
}
