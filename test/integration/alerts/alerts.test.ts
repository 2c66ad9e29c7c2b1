/**
 * Checks the metrics of `incumbent/monitor` and the documented alert rules with Prometheus's own
 * checker.
 */

import { join } from 'node:path';
import { promtool, requirePromtool } from '@incumbent/test-support';
import { ElectionObserver, Member, openStore } from 'incumbent';
import { Monitor } from 'incumbent/monitor';
import { describe, expect, it } from 'vitest';

describe.runIf(await requirePromtool())('Prometheus', () => {
  it('reads all metrics, and finds nothing to improve', async () => {
    using monitor = new Monitor();
    await using store = await openStore('memory:');
    await using observer = new ElectionObserver(store, 'jobs');
    await observer.ready;
    await using member = new Member(store, { memberId: 'a', ttlMs: 1_000 });
    const leadership = await member.election('jobs').campaign();
    await leadership.resign();
    await member.election('jobs').campaign();
    await expect.poll(() => monitor.prometheus(), { timeout: 30_000 }).toContain('incumbent_session_renewal_seconds_count');
    expect(await promtool(['check', 'metrics'], monitor.prometheus())).toBe('');
  });

  it('reads the rules, and alerts when it should, and only then', async () => {
    const told = await promtool(['test', 'rules', join(import.meta.dirname, 'alerts.test.yml')]);
    expect(told).toContain('SUCCESS');
  });
});
