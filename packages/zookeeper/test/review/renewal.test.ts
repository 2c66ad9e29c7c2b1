/** Renewals in any order, by a model of what the ensemble's leader can know. */

import type { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { Scene, CALL } from './scene.ts';

function momentOf(clock: ManualClock) {
  return { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
}

describe('a renewal', () => {
  it('vouches from no later than an acknowledged one a quarter of the ttl before it, in whatever order they are answered', async () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      let state = seed * 2_654_435_761;
      const chance = (below: number): number => {
        state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
        return (state >>> 0) % below;
      };
      const scene = new Scene();
      const store = await scene.open();
      const { id, validFrom } = await scene.clock.run(store.grantLease(4_000, { ...CALL, at: momentOf(scene.clock) }));
      const acked: number[] = [validFrom.monotonicMs];
      let best = validFrom.monotonicMs;
      const calls: Promise<void>[] = [];
      for (let step = 0; step < 12; step += 1) {
        const at = momentOf(scene.clock);
        const lateMs = chance(3) * 300;
        calls.push(
          store.renewLease(id, { timeoutMs: 2_000, at: { ...at, monotonicMs: at.monotonicMs - lateMs } }).then(
            ({ validFrom: from }) => {
              acked.push(at.monotonicMs - lateMs);
              // No later than what is proven by this one, or was by one before.
              const proven = Math.max(best, ...acked.filter((sent) => sent <= at.monotonicMs - lateMs - 1_000));
              expect(from.monotonicMs).toBeLessThanOrEqual(proven);
              best = Math.max(best, from.monotonicMs);
            },
            () => {},
          ),
        );
        if (chance(6) === 0) for (const peer of scene.server.peers) peer.end();
        await scene.clock.advance(chance(1_500));
      }
      await scene.clock.run(Promise.all(calls));
      await scene.clock.run(store.close());
    }
  });
});
