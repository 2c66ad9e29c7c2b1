import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { Recovery } from '../src/recovery.ts';

/** Chance at its most, or at its least. */
const most = { u32: () => 2 ** 32 - 1 };
const least = { u32: () => 0 };

it('after a failure nobody asks for a while, which doubles up to a second, and begins anew after an answer', async () => {
  const clock = new ManualClock();
  const recovery = new Recovery(clock, most);
  const waits: number[] = [];
  for (let failures = 0; failures < 6; failures += 1) {
    recovery.hold();
    waits.push(Math.round(recovery.leftMs));
    await clock.advance(1_000);
    expect(recovery.leftMs).toBe(0);
  }
  expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  recovery.reset();
  recovery.hold();
  expect(Math.round(recovery.leftMs)).toBe(100);
});

it('failures of many at once are one, and the wait is spread by chance down to its half', () => {
  const clock = new ManualClock();
  const recovery = new Recovery(clock, least);
  for (let failures = 0; failures < 50; failures += 1) recovery.hold();
  expect(recovery.leftMs).toBe(50);
});
