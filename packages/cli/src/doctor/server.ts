/**
 * Reports the server's version, its clock, and its own warnings. Elections work without the right
 * to read them.
 */

import { isIncumbentError, type Store, type StoreReport } from '@incumbent/core';

import { ok, warning, type Finding } from './finding.ts';
import { CALL } from './probe-target.ts';

/**
 * A clock that differs by more makes logs of several machines hard to compare, in ms. Elections do
 * not depend on it.
 */
const MAX_CLOCK_DIFFERENCE_MS = 1_000;

export async function checkServer(store: Store): Promise<readonly Finding[]> {
  const { report, refusals } = await reportOf(store);
  const findings = [
    ok('store', [store.name, report?.version].filter((part) => part !== undefined).join(' '), { version: report?.version }),
    ...refusals,
  ];
  if (report?.clock !== undefined) {
    const { aheadMs, withinMs } = report.clock;
    const detail = `the server's clock is ${Math.abs(aheadMs).toFixed(0)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's (within ${withinMs.toFixed(0)} ms)`;
    findings.push((Math.abs(aheadMs) - withinMs > MAX_CLOCK_DIFFERENCE_MS ? warning : ok)('clock', detail, { aheadMs, withinMs }));
  }
  for (const { what, detail, isWeak = false } of report?.facts ?? []) findings.push((isWeak ? warning : ok)(what, detail));
  for (const text of report?.warnings ?? []) findings.push(warning('the server', text));
  return findings;
}

async function reportOf(store: Store): Promise<{ readonly report?: StoreReport | undefined; readonly refusals: readonly Finding[] }> {
  try {
    return { report: await store.inspect?.(CALL), refusals: [] };
  } catch (error) {
    if (!isIncumbentError(error, 'PERMISSION_DENIED')) throw error;
    return { refusals: [warning('the server', `not asked for its version, which elections do not need: ${error.message}`)] };
  }
}
