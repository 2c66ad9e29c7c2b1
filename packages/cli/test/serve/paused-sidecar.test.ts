import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { SidecarWorld, TTL_MS } from './world.ts';

let world: SidecarWorld;
beforeEach(() => {
  world = new SidecarWorld();
});
afterEach(async () => world[Symbol.asyncDispose]());

describe('a candidacy of a sidecar that stood still', () => {
  it('is not over, because it could not be renewed meanwhile', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a', { renewWithinMs: 3_000 });
    await world.until(() => candidacy.document().leads);
    world.cluster.pause('s1');
    await world.pass(4_000);
    world.cluster.resume('s1');
    await world.pass(10);
    candidacy.renew();
    await world.pass(2_900);
    expect(candidacy.isOver).toBe(false);
    await world.pass(200);
    expect(candidacy.isOver).toBe(true);
  });

  it('for long is over soon, if its client is gone', async () => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a', { renewWithinMs: 3_000 });
    world.cluster.pause('s1');
    await world.pass(60_000);
    world.cluster.resume('s1');
    await world.pass(2_900);
    expect(candidacy.isOver).toBe(false);
    await world.until(() => candidacy.isOver);
    expect(candidacy.overReason).toBe('expired');
    expect(world.nowMs).toBeLessThan(60_000 + 3_000 + TTL_MS);
  });

  it.each([1, 300, 900])('until %i ms after its time is not over before the sidecar has read requests', async (lateMs) => {
    const { candidacy } = world.client(world.sidecar('s1'), 'a', { renewWithinMs: 3_000 });
    await world.pass(2_000);
    world.cluster.pause('s1');
    await world.pass(1_000 + lateMs);
    world.cluster.resume('s1');
    await world.pass(10);
    expect(candidacy.isOver).toBe(false);
    world.cluster.pause('s1');
    await world.pass(200);
    world.cluster.resume('s1');
    await world.pass(10);
    expect(candidacy.isOver).toBe(false);
    await world.pass(lateMs + 200);
    expect(candidacy.document().reason).toBe('expired');
  });
});
