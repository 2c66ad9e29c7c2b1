/** `pnpm verify NAME --busy N`. */

import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';
import { BusyLoops } from './busy.ts';

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('runs beside busy loops', () => {
  it('have as many as were asked for, which end with the runs', async () => {
    const loops = new BusyLoops(2);
    const { pids } = loops;
    expect(pids.map(isAlive)).toEqual([true, true]);
    loops[Symbol.dispose]();
    await until(() => !pids.some(isAlive), { what: 'the loops to end' });
  });
});
