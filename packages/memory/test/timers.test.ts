import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Timers, type Timer } from '../src/timers.ts';

/** Takes everything out. */
function drain(timers: Timers): Timer[] {
  const taken: Timer[] = [];
  for (let next = timers.take(); next !== undefined; next = timers.take()) taken.push(next);
  return taken;
}

it('timers are taken by time, then in the order of their scheduling, without cancelled ones', () => {
  const plan = fc.array(fc.record({ dueMs: fc.integer({ min: 0, max: 20 }), isCancelled: fc.boolean() }), { maxLength: 200 });
  fc.assert(
    fc.property(plan, (planned) => {
      const timers = new Timers();
      const added = planned.map(({ dueMs }) => timers.add(dueMs, () => {}));
      for (const [i, { isCancelled }] of planned.entries()) if (isCancelled) timers.cancel(added[i]!);
      const expected = added.filter((_, i) => !planned[i]?.isCancelled).toSorted((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence);
      expect(timers.size).toBe(expected.length);
      expect(drain(timers).map((timer) => timer.sequence)).toEqual(expected.map((timer) => timer.sequence));
      expect(timers.size).toBe(0);
    }),
  );
});
