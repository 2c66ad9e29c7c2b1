import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { RetryGate } from '@incumbent/network';

/** Random numbers at their most, and at their least. */
const most = { u32: () => 2 ** 32 - 1 };
const least = { u32: () => 0 };

it('the gate is open at first', () => {
  expect(new RetryGate(new ManualClock(), most).leftMs).toBe(0);
});

it('pauses double up to a second, and are short again after a success', async () => {
  const clock = new ManualClock();
  const gate = new RetryGate(clock, most);
  const pauses: number[] = [];
  for (let failures = 0; failures < 6; failures += 1) {
    gate.hold();
    pauses.push(Math.round(gate.leftMs));
    await clock.advance(1_000);
    expect(gate.leftMs).toBe(0);
  }
  expect(pauses).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  gate.reset();
  gate.hold();
  expect(Math.round(gate.leftMs)).toBe(100);
});

it('many simultaneous failures start one pause, of at least half the nominal length', () => {
  const gate = new RetryGate(new ManualClock(), least);
  for (let failures = 0; failures < 50; failures += 1) gate.hold();
  expect(gate.leftMs).toBe(50);
});

it('a success does not end a pause', () => {
  const gate = new RetryGate(new ManualClock(), least);
  gate.hold();
  gate.reset();
  expect(gate.leftMs).toBe(50);
});
