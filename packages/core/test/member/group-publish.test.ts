/** A member of a group changes the value that it shows. */

import { describe, expect, it } from 'vitest';
import type { Group, GroupOptions } from '../../src/index.ts';
import { quiet, track } from '../support/track.ts';
import { TTL_MS, World } from '../support/world.ts';

const CALL_MS = 2_500;

describe('publishing', () => {
  /** Remembers the members with their values whenever they change. */
  function values(group: Group<number>): string[] {
    const views: string[] = [];
    group.subscribe((members) => views.push(members.map(({ memberId, value }) => `${memberId}:${value}`).join(' ')));
    return views;
  }

  it('shows another value to the others, who see the member in its place', async () => {
    const world = new World();
    const [a, b] = ['a', 'b'].map((id) => world.member(id).group('g', { value: 1 }));
    if (a === undefined || b === undefined) throw new Error('no groups');
    for (const group of [a, b]) await world.run(group.join());
    const views = values(b);
    await world.pass();
    await world.run(a.publish(2));
    expect(await world.run(b.members())).toMatchObject([
      { memberId: 'a', value: 2 },
      { memberId: 'b', value: 1 },
    ]);
    await world.pass();
    expect(views).toEqual(['a:1 b:1', 'a:2 b:1']);
    await world.run(a.publish(undefined));
    expect(await world.run(b.members())).toMatchObject([{ memberId: 'a', value: undefined }, { memberId: 'b' }]);
  });

  it('before the first join and after leaving sets the value of the next join, without a request', async () => {
    const world = new World();
    const group = world.member('a').group('g', { value: 1 });
    await world.run(group.publish(2));
    expect(world.server.keys()).toEqual([]);
    await world.run(group.join());
    expect(await world.run(group.members())).toMatchObject([{ value: 2 }]);
    await world.run(group.leave());
    await world.run(group.publish(3));
    expect(world.server.keys()).toEqual(['members/a']);
    await world.run(group.join());
    expect(await world.run(group.members())).toMatchObject([{ value: 3 }]);
  });

  it('shows the last value again after the key was deleted, and after the lease was lost', async () => {
    const world = new World();
    const group = world.member('a').group('g', { value: 1 });
    await world.run(group.join());
    await world.run(group.publish(2));
    world.server.deleteKey('groups/g/a');
    await world.pass(100);
    expect(await world.run(group.members())).toMatchObject([{ value: 2 }]);
    world.server.expireLease(world.leaseOf('a'));
    await world.pass(TTL_MS);
    expect(await world.run(group.members())).toMatchObject([{ value: 2 }]);
  });

  it('takes the value as it is at the call, and encodes it once', async () => {
    const world = new World();
    let encoded = 0;
    const codec = {
      encode: (value: number[]): Uint8Array => Uint8Array.of(...value, (encoded += 1)),
      decode: (read: Uint8Array): number[] => [...read],
    };
    const value = [7];
    const group = world.member('a').group('g', { value, codec });
    value.push(8);
    await world.run(group.join());
    await world.run(group.join());
    world.server.deleteKey('groups/g/a');
    await world.pass(100);
    expect(await world.run(group.members())).toMatchObject([{ value: [7, 1] }]);
  });

  it('the same value writes nothing', async () => {
    const world = new World();
    const group = world.member('a').group('g', { value: 1 });
    await world.run(group.join());
    const { compareAndSwap } = world.server.requests;
    await world.run(group.publish(1));
    expect(world.server.requests.compareAndSwap).toBe(compareAndSwap);
  });

  it('refuses a value that cannot be encoded or that the store cannot hold, and shows the value before', async () => {
    const world = new World({ maxValueBytes: 1_000 });
    const options: GroupOptions = { value: 1 };
    const group = world.member('a').group('g', options);
    await world.run(group.join());
    for (const value of [1n, 'x'.repeat(1_000)])
      await expect(world.run(group.publish(value))).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    world.server.deleteKey('groups/g/a');
    await world.pass(100);
    expect(await world.run(group.members())).toMatchObject([{ value: 1 }]);
    expect(() => world.member('b').group('g', { value: 'x'.repeat(1_000) })).toThrow(
      /^value is .*: it must be at most \d+ bytes of it, as the store "memory" takes values of 1000 bytes/,
    );
  });

  it('ends with the member, or with leaving', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const group = member.group('g', { value: 1 });
    await world.run(group.join());
    store.link.cutOff();
    const [first, second] = [track(group.publish(2)), track(group.publish(3))];
    await world.pass(100);
    const left = quiet(group.leave());
    await world.pass(CALL_MS);
    for (const { error } of [first, second]) expect(error).toMatchObject({ code: 'MEMBER_CLOSED' });
    store.link.heal();
    await world.run(left);
    await world.run(member.close());
    await expect(world.run(group.publish(4))).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    await world.close();
    world.expectNothingLeft();
  });
});

describe('values that are published at the same time', () => {
  it('end with the last one in the store, also if the answers of some are lost', async () => {
    // A call takes 10 ms. The next value is published during and after the calls of the one before.
    for (let lost = 0; lost < 4; lost += 1)
      for (let betweenMs = 0; betweenMs <= 24; betweenMs += 4) {
        const world = new World();
        const link = world.connect({ latencyMs: 5 });
        const group = world.member('a', {}, link).group('g', { value: 0 });
        await world.run(group.join());
        link.link.dropReplies(lost, { operations: ['compareAndSwap'] });
        const published: Promise<void>[] = [];
        for (const value of [1, 2, 3]) {
          published.push(quiet(group.publish(value)));
          await world.pass(betweenMs);
        }
        await world.run(Promise.all(published));
        const found = await world.run(group.members());
        expect(found, `${lost} answers lost, ${betweenMs} ms`).toMatchObject([{ memberId: 'a', value: 3 }]);
        await world.pass(10 * TTL_MS);
        expect(await world.run(group.members())).toEqual(found);
        await world.close();
      }
  });

  it('end with the last one, although an earlier put is still on its way when that one is published', async () => {
    const world = new World();
    const link = world.connect();
    const group = world.member('a', {}, link).group('g', { value: 0 });
    await world.run(group.join());
    link.link.holdWrites('compareAndSwap');
    const first = track(group.publish(1));
    await world.pass(100);
    // The store still shows this value.
    const second = track(group.publish(0));
    await world.pass(100);
    link.link.release();
    await world.pass(TTL_MS);
    expect([first.state, second.state]).toEqual(['resolved', 'resolved']);
    expect(await world.run(group.members())).toMatchObject([{ memberId: 'a', value: 0 }]);
  });

  it('end with the last one, although the store applies an earlier put late', async () => {
    const world = new World();
    const link = world.connect();
    const group = world.member('a', {}, link).group('g', { value: 0 });
    await world.run(group.join());
    link.link.holdWrites('compareAndSwap');
    const first = track(group.publish(1));
    await world.pass(CALL_MS + 10);
    const second = track(group.publish(0));
    await world.pass(CALL_MS + 10);
    link.link.release();
    await world.pass(TTL_MS);
    expect([first.state, second.state]).toEqual(['resolved', 'resolved']);
    expect(await world.run(group.members())).toMatchObject([{ memberId: 'a', value: 0 }]);
  });
});
