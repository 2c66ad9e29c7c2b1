/** Two copies of a leader, as from a cloned machine: same member id, incarnation and lease. */

import { describe, expect, it } from 'vitest';
import { Fence } from '../../src/index.ts';
import { seeded } from '../support/random.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

const SEED = 7;

/**
 * The copy has the member id, the incarnation (from the same random numbers) and the lease of the
 * original, and a link of its own. It finds the original's keys in the store and takes them for its
 * own.
 */
async function copies() {
  const world = new World();
  const [store, other] = [world.connect(), world.connect()];
  const original = await world.run(
    world
      .member('a', { random: seeded(SEED) }, store)
      .election(NAME)
      .campaign(),
  );
  const id = world.leaseOf('a');
  const known = relay(other, { grantLease: async (ttlMs, { at }) => ({ id, ttlMs, validFrom: at }) });
  const copy = await world.run(
    world
      .member('a', { random: seeded(SEED) }, known)
      .election(NAME)
      .campaign(),
  );
  return { world, store, original, copy };
}

const put = (key: string) => ({ key, expect: null, put: new Uint8Array() });

describe('two copies of a leader', () => {
  it('are both valid in one term, by one lease that both renew', async () => {
    const { world, original, copy } = await copies();
    await world.pass(100 * TTL_MS);
    expect([original.isValid(), copy.isValid()]).toEqual([true, true]);
    expect([original.term, copy.term]).toEqual([1n, 1n]);
    expect(world.server.leases()).toHaveLength(1);
  });

  it('pass the same guard and the same fence, and publish over one another', async () => {
    const { world, original, copy } = await copies();
    expect(await original.swap([put('x')])).toMatchObject({ swapped: true });
    expect(await copy.swap([put('y')])).toMatchObject({ swapped: true });
    const fence = new Fence();
    fence.admit(original.term);
    expect(() => fence.admit(copy.term)).not.toThrow();
    for (const value of ['one', 'two', 'three']) {
      await world.run((value === 'two' ? copy : original).publish(value));
      expect(world.json(LEADER)).toMatchObject({ term: '1', value });
    }
  });

  it('do not hold one another: one that is cut off ends at its deadline, and the other leads on', async () => {
    const { world, store, original, copy } = await copies();
    store.link.cutOff();
    await world.pass(TTL_MS);
    expect((await original.ended).reason).toBe('deadline');
    expect(copy.isValid()).toBe(true);
  });

  it('both end when one resigns, and a fence that has seen the next term refuses both', async () => {
    const { world, original, copy } = await copies();
    const next = track(world.member('b').election(NAME).campaign());
    await world.pass(20);
    await world.run(original.resign());
    await world.until(() => next.state === 'resolved', 'the next leader', TTL_MS);
    expect((await world.run(copy.ended)).reason).toBe('recordDeleted');
    const fence = new Fence();
    fence.admit(next.value?.term ?? 0n);
    expect(() => fence.admit(copy.term)).toThrow(expect.objectContaining({ code: 'STALE_TERM' }));
  });

  it('both stop where a new process takes their member id', async () => {
    const { world, original, copy } = await copies();
    const next = await world.elect(world.member('a', { onDuplicate: 'replace' }));
    expect([(await original.ended).reason, (await copy.ended).reason]).toEqual(['replaced', 'replaced']);
    expect(next.term).toBe(2n);
  });
});
