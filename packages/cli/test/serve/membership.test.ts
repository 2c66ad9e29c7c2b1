import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Sidecar } from '../../src/serve/sidecar.ts';
import { SidecarWorld, TTL_MS } from './world.ts';

let world: SidecarWorld;
beforeEach(() => {
  world = new SidecarWorld();
});
afterEach(async () => {
  await world[Symbol.asyncDispose]();
});

/** The members of the group `g` with their values. */
async function members(sidecar: Sidecar): Promise<readonly (readonly [string, unknown])[]> {
  const found = await world.cluster.run(sidecar.memberships.members('g'));
  return found.map(({ memberId, value }) => [memberId, value] as const);
}

describe('a membership', () => {
  it('shows the value of its client to the other members until it ends', async () => {
    const [one, two] = [world.sidecar('s1'), world.sidecar('s2')];
    const membership = one.memberships.join('g', { value: { port: 80 }, renewWithinMs: 60_000 });
    two.memberships.join('g', { renewWithinMs: 60_000 });
    expect(membership.document()).toEqual({ group: 'g', member: 's1', joined: false, renewWithinMs: 60_000 });
    await world.until(() => membership.document().joined);
    await world.pass(100);
    expect(await members(two)).toEqual([
      ['s1', { port: 80 }],
      ['s2', null],
    ]);
    await world.cluster.run(membership.leave());
    expect(await members(two)).toEqual([['s2', null]]);
  });

  it('ends if its client falls silent, and lasts while the client renews it', async () => {
    const sidecar = world.sidecar('s1');
    const membership = sidecar.memberships.join('g', { renewWithinMs: 3_000 });
    await world.until(() => membership.document().joined);
    for (let i = 0; i < 5; i += 1) {
      await world.pass(2_900);
      expect(sidecar.memberships.find('g', membership.secret)).toBe(membership);
    }
    await world.pass(3_100);
    expect(await members(sidecar)).toEqual([]);
    expect(() => sidecar.memberships.find('g', membership.secret)).toThrow('no client has joined');
  });

  it('belongs to one client at a time, and the next one shows its own value', async () => {
    const sidecar = world.sidecar('s1');
    const first = sidecar.memberships.join('g', { value: 1, renewWithinMs: 60_000 });
    expect(() => sidecar.memberships.join('g', { value: 2, renewWithinMs: 60_000 })).toThrow('for another client');
    expect(() => sidecar.memberships.find('g', 'guess')).toThrow('not the secret');
    await world.until(() => first.document().joined);
    const left = first.leave();
    expect(() => sidecar.memberships.join('g', { value: 2, renewWithinMs: 60_000 })).toThrow('has not left it yet');
    await world.cluster.run(left);
    const second = sidecar.memberships.join('g', { value: 2, renewWithinMs: 60_000 });
    expect(second.secret).not.toBe(first.secret);
    await world.until(() => second.document().joined);
    expect(await members(sidecar)).toEqual([['s1', 2]]);
  });

  it('is taken up again after the lease of the sidecar was lost', async () => {
    const [one, two] = [world.sidecar('s1'), world.sidecar('s2')];
    const membership = one.memberships.join('g', { value: 1, renewWithinMs: 600_000 });
    await world.until(() => membership.document().joined);
    world.cluster.cutOff('s1');
    await world.pass(3 * TTL_MS);
    expect(await members(two)).toEqual([]);
    world.cluster.resume('s1');
    await world.pass(3 * TTL_MS);
    expect(await members(two)).toEqual([['s1', 1]]);
  });

  it('ends with the sidecar, and leaves no timer behind', async () => {
    const [one, two] = [world.sidecar('s1'), world.sidecar('s2')];
    const membership = one.memberships.join('g', { renewWithinMs: 60_000 });
    await world.until(() => membership.document().joined);
    await world.cluster.run(one.close());
    expect(await members(two)).toEqual([]);
  });
});
