import { describe, expect, it } from 'vitest';

import { ProcessGroup } from '../../src/run/process-group.ts';
import { restartDelayMs } from '../../src/run/restart-delay.ts';

describe('the pause before a restart', () => {
  it('doubles up to 30s after programs that end at once', () => {
    const delays: number[] = [];
    for (let i = 0; i < 7; i += 1) delays.push(restartDelayMs(delays.at(-1), { code: 1, signal: undefined, ranMs: 29_000 }));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it('is the shortest after a program that ran for longer than the longest pause', () => {
    expect(restartDelayMs(16_000, { code: 1, signal: undefined, ranMs: 30_001 })).toBe(1_000);
  });

  it('counts the run time of the program alone, without the wait to lead', async () => {
    const createdAt = performance.now();
    const end = await new ProcessGroup(['false'], { PATH: process.env['PATH'] }).ended;
    expect(end).toMatchObject({ code: 1, signal: undefined });
    expect(end.ranMs).toBeGreaterThan(0);
    expect(end.ranMs).toBeLessThanOrEqual(performance.now() - createdAt);
  });
});
