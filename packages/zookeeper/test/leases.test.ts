/** Renewals in any order, by a model of what the ensemble's leader can know. */

import type { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { Writer } from '../src/protocol/jute.ts';
import { multi } from '../src/protocol/multi.ts';
import { Scene, CALL } from './support/scene.ts';

function momentOf(clock: ManualClock) {
  return { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
}

describe('a renewal', () => {
  it('does not vouch from one that was answered a moment ago, however long it had been on its way', async () => {
    const scene = new Scene();
    const store = await scene.open();
    const { id, validFrom } = await scene.clock.run(store.grantLease(10_000, { ...CALL, at: momentOf(scene.clock) }));
    await scene.clock.advance(6_000);
    // The way to the server stands still: this one arrives, and is answered, 2.6 s after it was asked for.
    let answer = (): void => {};
    scene.instead = ({ type, xid }, peer) => {
      if (type !== multi.type) return false;
      answer = () => peer.reply(xid, { body: new Writer().int(13).bool(false).int(-1).int(-1).bool(true).int(-1).finish() });
      return true;
    };
    const first = store.renewLease(id, { timeoutMs: 5_000, at: momentOf(scene.clock) });
    await scene.clock.advance(2_600);
    answer();
    await scene.clock.run(first);
    scene.instead = () => false;
    const renew = async (): Promise<number> => {
      const { validFrom: from } = await scene.clock.run(store.renewLease(id, { ...CALL, at: momentOf(scene.clock) }));
      return from.monotonicMs;
    };
    // Its server got both within a millisecond, and need not have told the ensemble’s leader of either.
    expect(await renew()).toBe(validFrom.monotonicMs);
    await scene.clock.advance(2_500);
    expect(await renew()).toBe(validFrom.monotonicMs + 8_600);
    await scene.clock.run(store.close());
  });

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
      const acked: { readonly sent: number; readonly by: number }[] = [{ sent: validFrom.monotonicMs, by: validFrom.monotonicMs }];
      let best = validFrom.monotonicMs;
      const calls: Promise<void>[] = [];
      for (let step = 0; step < 12; step += 1) {
        const at = momentOf(scene.clock);
        const lateMs = chance(3) * 300;
        calls.push(
          store.renewLease(id, { timeoutMs: 2_000, at: { ...at, monotonicMs: at.monotonicMs - lateMs } }).then(
            ({ validFrom: from }) => {
              acked.push({ sent: at.monotonicMs - lateMs, by: scene.clock.monotonic() });
              // No later than what is proven by this one, or was by one before.
              const proven = Math.max(best, ...acked.filter(({ by }) => by <= at.monotonicMs - 1_000).map(({ sent }) => sent));
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
