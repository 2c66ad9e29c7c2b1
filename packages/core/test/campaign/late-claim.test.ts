/** A claim whose answer was lost, and which is applied long after. */

import { expect, it } from 'vitest';
import { StoreError, type Change, type Store } from '../../src/index.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, World } from '../support/world.ts';

it('a candidate that waits for the end of a leader’s record notices that its own late claim has replaced the record before a watch showed it absent', async () => {
  const world = new World();
  const storeA = world.connect();
  await world.elect(world.member('a', {}, storeA));
  // Its process dies, and an operator deletes its entry: the record stands until the lease ends.
  storeA.link.cutOff();
  world.server.deleteKey(world.server.keys().find((key) => key.startsWith(`${CANDIDATES}/a`))!);

  const storeB = world.connect();
  let late: readonly Change[] | undefined;
  const losing: Store = relay(storeB, {
    compareAndSwap: async (changes, options) => {
      if (late !== undefined || !changes.some(({ key }) => key === LEADER)) return storeB.compareAndSwap(changes, options);
      late = changes;
      throw new StoreError('TIMEOUT', 'unknown', 'no answer');
    },
  });
  const b = track(world.member('b', {}, losing).election(NAME).campaign());
  await world.pass(5_000);
  expect([late === undefined, b.state]).toEqual([false, 'pending']);

  // Its connection hangs, so its watch shows no state between the two records.
  storeB.link.stall();
  await world.until(() => !world.server.keys().includes(LEADER), 'the end of the lease');
  const applied = await world.run(world.connect().compareAndSwap(late!, { timeoutMs: 1_000 }));
  expect(applied.swapped).toBe(true);
  storeB.link.heal();
  storeB.link.reset();
  await world.pass(60_000);
  expect(b.state).toBe('resolved');
});
