/** What the server tells of itself. */

import type { Store } from '@incumbent/core';

import { ok, warning, type Finding } from './finding.ts';
import { CALL } from './patient.ts';

/** A clock that is further off than that misleads whoever reads logs of several machines; no election counts on it. */
const CLOCK_OFF_MS = 1_000;

export async function reportOf(store: Store): Promise<readonly Finding[]> {
  const report = await store.inspect?.(CALL);
  const findings = [
    ok('store', [store.name, report?.version].filter((part) => part !== undefined).join(' '), { version: report?.version }),
  ];
  if (report?.clock !== undefined) {
    const { aheadMs, withinMs } = report.clock;
    const detail = `the server's is ${Math.abs(aheadMs).toFixed(0)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's (within ${withinMs.toFixed(0)} ms)`;
    findings.push((Math.abs(aheadMs) - withinMs > CLOCK_OFF_MS ? warning : ok)('clock', detail, { aheadMs, withinMs }));
  }
  for (const words of report?.warnings ?? []) findings.push(warning('the server', words));
  return findings;
}
