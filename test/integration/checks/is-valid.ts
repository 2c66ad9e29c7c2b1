/** The cost of `isValid()`. */

import assert from 'node:assert/strict';
import { getHeapStatistics } from 'node:v8';
import { Member } from 'incumbent';
import { openMemory } from '@incumbent/memory';
import type { Check } from './check.ts';

const CALLS = 500_000;
const ROUNDS = 40;
/** Longer than all rounds together, because the rounds leave no time for a renewal. */
const TTL_MS = 3_600_000;

/**
 * ns per call of each task. The best of several rounds shows the cost without disturbance. The
 * tasks take turns, so that a busy moment affects all.
 */
function costNs(...tasks: readonly (() => unknown)[]): readonly number[] {
  const best = tasks.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, task] of tasks.entries()) best[index] = Math.min(best[index] ?? Infinity, timeNs(task));
  }
  return best;
}

function timeNs(task: () => unknown): number {
  const from = process.hrtime.bigint();
  for (let i = 0; i < CALLS; i += 1) task();
  return Number(process.hrtime.bigint() - from) / CALLS;
}

/** The growth of the heap per call in bytes, without a collection in between. */
function bytesPerCall(task: () => unknown): number {
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = getHeapStatistics().used_heap_size;
    for (let i = 0; i < 20_000; i += 1) task();
    const grown = getHeapStatistics().used_heap_size - from;
    if (grown >= 0) samples.push(grown / 20_000);
  }
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0;
}

export const isValid: Check = {
  name: 'is-valid',
  claim: '`isValid()` allocates nothing of its own, and costs at most its two clock reads plus 20 ns.',
  method: `${CALLS.toLocaleString('en')} calls a round, the best of ${ROUNDS} rounds; clocks: performance.now() and Date.now(), called the same way. bytes: growth of the heap per call, the median of ${ROUNDS} rounds; Date.now() itself allocates its result, in clockBytes.`,
  runs: 3,
  parallel: 1,
  open: async () => ({
    run: async () => {
      await using store = await openMemory();
      await using member = new Member(store, { ttlMs: TTL_MS });
      const leadership = await member.election('controller').campaign();
      const read = (): boolean => performance.now() < Infinity && Date.now() < Infinity;
      const ask = (): boolean => leadership.isValid();
      const [clocksNs = 0, isValidNs = 0] = costNs(read, ask);
      const [bytes, clockBytes] = [bytesPerCall(ask), bytesPerCall(read)];
      assert.equal(leadership.isValid(), true, 'it was a true answer that was measured');
      assert.ok(bytes - clockBytes < 1, `${bytes} bytes per call, of which the clocks take ${clockBytes}`);
      return { figures: { isValidNs, clocksNs, overNs: isValidNs - clocksNs, bytes, clockBytes } };
    },
    [Symbol.asyncDispose]: async () => {},
  }),
};
