import { Member } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { runTiming } from '../../src/run/timing.ts';

describe('the grace', () => {
  it.each([250, 1_000, 5_000, 15_000, 60_000])('for a ttl of %i ms and the time for SIGKILL fit into the lease', async (ttlMs) => {
    await using store = await openMemory();
    const { graceMs, killMs, drainMs } = runTiming(ttlMs, undefined, store);
    expect(graceMs + killMs).toBe(drainMs);
    expect([graceMs >= 0, killMs > 0]).toEqual([true, true]);
    // The constructor rejects a drain that does not fit into the lease.
    expect(new Member(store, { ttlMs, drainMs }).timing.drainMs).toBe(drainMs);
  });

  it('that does not fit is rejected, with the longest grace and a ttl that fits', async () => {
    await using store = await openMemory();
    const message = /^--grace 20s does not fit into --ttl 15s: at most 4\.\d+s, .* it fits into --ttl (\d+)s$/;
    expect(() => runTiming(15_000, 20_000, store)).toThrow(message);
    const [, seconds] = message.exec(thrownBy(() => runTiming(15_000, 20_000, store))) ?? [];
    expect(runTiming(Number(seconds) * 1_000, 20_000, store).graceMs).toBe(20_000);
  });
});

function thrownBy(task: () => unknown): string {
  try {
    task();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
