import diagnosticsChannel from 'node:diagnostics_channel';

import { Member, StoreError } from '@incumbent/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

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

  it('shows a new value of its client, and keeps the one before if the new one cannot be shown', async () => {
    const failures: string[] = [];
    const sidecar = world.sidecar('s1', { groupValueFailed: (group, why) => failures.push(`${group} ${why}`) });
    const membership = sidecar.memberships.join('g', { value: 1, renewWithinMs: 60_000 });
    await world.until(() => membership.document().joined);
    membership.configure({ value: 2, renewWithinMs: 30_000 });
    await world.pass(100);
    expect(await members(sidecar)).toEqual([['s1', 2]]);
    expect(membership.document()).toMatchObject({ joined: true, renewWithinMs: 30_000 });
    expect(() => membership.configure({ value: 3n, renewWithinMs: 20_000 })).toThrow('value ');
    expect(membership.document().renewWithinMs).toBe(30_000);
    const denied = new StoreError('PERMISSION_DENIED', 'refused', 'the user may not write');
    vi.spyOn(world.cluster.process('s1').store, 'compareAndSwap').mockRejectedValue(denied);
    membership.configure({ value: 3, renewWithinMs: 30_000 });
    await world.pass(100);
    expect(failures).toEqual([expect.stringMatching(/^g PERMISSION_DENIED: /)]);
    expect(await members(sidecar)).toEqual([['s1', 2]]);
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
    world.cluster.heal('s1');
    await world.pass(3 * TTL_MS);
    expect(await members(two)).toEqual([['s1', 1]]);
  });

  it('is not joined any more once the sidecar has left the group for good, and can be deleted', async () => {
    const failures: string[] = [];
    const sidecar = world.sidecar('s1', { joinFailed: (group, why) => failures.push(`${group} ${why}`) });
    const membership = sidecar.memberships.join('g', { renewWithinMs: 600_000 });
    await world.until(() => membership.document().joined);
    const { store, options } = world.cluster.process('twin');
    await using twin = new Member(store, { ...options, memberId: 's1', onDuplicate: 'replace', ttlMs: TTL_MS });
    await world.cluster.run(twin.group('other').join());
    await world.until(() => failures.length > 0);
    expect(failures).toEqual([expect.stringMatching(/^g DUPLICATE_MEMBER: /)]);
    expect(sidecar.memberships.find('g', membership.secret).document()).toMatchObject({ group: 'g', joined: false });
    expect(await members(sidecar)).toEqual([]);
    await world.cluster.run(membership.leave());
    expect(membership.document().joined).toBe(false);
    // The group is free for the next client, which learns the cause from the log.
    sidecar.memberships.join('g', { renewWithinMs: 600_000 });
    await world.until(() => failures.length > 1);
  });

  it('ignores the events of other members of this process', async () => {
    const sidecar = world.sidecar('s1');
    const membership = sidecar.memberships.join('g', { renewWithinMs: 600_000 });
    await world.until(() => membership.document().joined);
    diagnosticsChannel.channel('incumbent:groupLeft').publish({ group: 'g', incarnation: 'another', error: new Error('gone') });
    expect(membership.document().joined).toBe(true);
  });

  it('counts towards the limit of groups, and a read of a group does not', async () => {
    const [one, two] = [world.sidecar('s1', { maxGroups: 2 }), world.sidecar('s2')];
    two.memberships.join('g2', { value: 2, renewWithinMs: 600_000 });
    await world.pass(100);
    for (let i = 0; i < 2_500; i += 1) await world.cluster.run(one.memberships.members(`g${i}`));
    const found = await world.cluster.run(one.memberships.members('g2'));
    expect(found).toMatchObject([{ memberId: 's2', value: 2 }]);
    for (const name of ['a', 'b']) one.memberships.join(name, { renewWithinMs: 600_000 });
    expect(() => one.memberships.join('c', { renewWithinMs: 600_000 })).toThrow('the sidecar has joined 2 groups, and takes no more');
    expect(await world.cluster.run(one.memberships.members('c'))).toEqual([]);
    await expect(one.memberships.members('a b')).rejects.toMatchObject({ code: 'INVALID_NAME' });
  });

  it('ends with the sidecar, and leaves no timer behind', async () => {
    const [one, two] = [world.sidecar('s1'), world.sidecar('s2')];
    const membership = one.memberships.join('g', { renewWithinMs: 60_000 });
    await world.until(() => membership.document().joined);
    const closed = one.close();
    // The server still answers its client while the sidecar closes.
    one.memberships.find('g', membership.secret);
    await world.cluster.run(closed);
    expect(await members(two)).toEqual([]);
    await world.cluster.run(two.close());
    expect(world.cluster.clock.timers).toBe(0);
  });
});
