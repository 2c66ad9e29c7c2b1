import { describe, expect, it } from 'vitest';
import { StoreError, type Group, type GroupMember } from '../../src/index.ts';
import { denyFirst, Permission, relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { TTL_MS, World } from '../support/world.ts';

const CALL_MS = 2_500;

function ids(members: readonly GroupMember[]): readonly string[] {
  return members.map(({ memberId }) => memberId);
}

/** Remembers who is in the group whenever that changes. */
function shown<V>(group: Group<V>): (readonly string[])[] {
  const views: (readonly string[])[] = [];
  group.subscribe((members) => views.push(ids(members)));
  return views;
}

describe('a group', () => {
  it('shows who has joined, in the order of joining, with their values, and who has gone', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    const group = a.group('g', { value: { host: 'a' } });
    const views = shown(group);
    await world.pass();
    await world.run(group.join());
    await world.run(b.group('g').join());
    await world.pass();
    expect(await world.run(group.members())).toEqual([
      { memberId: 'a', incarnation: a.incarnation, value: { host: 'a' } },
      { memberId: 'b', incarnation: b.incarnation, value: undefined },
    ]);
    await world.run(b.group('g').leave());
    await world.pass();
    expect(views).toEqual([[], ['a'], ['a', 'b'], ['a']]);
  });

  it('shows a member that died when its lease has ended', async () => {
    const world = new World();
    const store = world.connect();
    const group = world.member('watcher').group('g');
    await world.run(world.member('a', {}, store).group('g').join());
    const views = shown(group);
    await world.pass();
    store.link.cutOff();
    await world.pass(TTL_MS);
    expect(views.at(-1)).toEqual([]);
  });

  it('can be watched without joining, by a callback or an iteration that keeps the process alive', async () => {
    const world = new World();
    const group = world.member('a').group('g');
    const caller = new AbortController();
    const views: (readonly string[])[] = [];
    const reading = track(
      (async (): Promise<void> => {
        for await (const members of group.views({ signal: caller.signal })) views.push(ids(members));
      })(),
    );
    await world.pass(10);
    expect([views, world.clock.holds, world.server.requests.grantLease]).toEqual([[[]], 1, 0]);
    caller.abort();
    await world.pass();
    expect([reading.state, world.clock.holds]).toEqual(['resolved', 0]);
  });

  it('hides only the record that cannot be read, and tells of it', async () => {
    const world = new World();
    const group = world.member('a').group('g');
    await world.run(group.join());
    world.put('groups/g/stranger', 'hello');
    const views = shown(group);
    await world.pass(100);
    expect(views).toEqual([['a']]);
    expect(world.events.about('that this process cannot read')).toMatchObject([{ group: 'g', key: 'groups/g/stranger' }]);
    expect(await world.run(group.members())).toMatchObject([{ memberId: 'a' }]);
    world.server.deleteKey('groups/g/stranger');
    await world.pass(100);
    expect(views.at(-1)).toEqual(['a']);
  });

  it('is watched again after the store has refused it for a while', async () => {
    const world = new World();
    const behind = world.connect();
    const first = denyFirst(3);
    const store = relay(behind, { watchList: (prefix, options) => first(() => behind.watchList(prefix, options)) });
    const views = shown(world.member('a', {}, store).group('g'));
    await world.pass(60_000);
    expect(views).toEqual([[]]);
  });

  it('refuses an option that nobody reads, and a subscriber that is no function', () => {
    const member = new World().member('a');
    expect(() => Reflect.apply(member.group, member, ['g', { valeu: 1 }])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    const group = member.group('h');
    expect(() => Reflect.apply(group.subscribe, group, [5])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

describe('joining', () => {
  it('resolves when the others can see it; twice is once', async () => {
    const world = new World();
    const group = world.member('a').group('g');
    await world.run(Promise.all([group.join(), group.join()]));
    await world.run(group.join());
    expect(world.server.keys().toSorted()).toEqual(['groups/g/a', 'members/a']);
  });

  it('is for good: again after a lost session, and after somebody deleted its key', async () => {
    const world = new World();
    const member = world.member('a');
    await world.run(member.group('g').join());
    const lease = world.leaseOf('a');
    world.server.deleteKey('groups/g/a');
    await world.pass(100);
    expect(world.server.keys()).toContain('groups/g/a');
    world.server.expireLease(lease);
    await world.pass(TTL_MS);
    expect(world.server.keys()).toContain('groups/g/a');
    expect(world.leaseOf('a')).not.toBe(lease);
  });

  it('is waited for while the store cannot be reached', async () => {
    const world = new World();
    const store = world.connect();
    store.link.refuse();
    const joining = track(world.member('a', {}, store).group('g').join());
    await world.pass(60_000);
    expect(joining.state).toBe('pending');
    store.link.heal();
    await world.pass(10_000);
    expect(joining.state).toBe('resolved');
  });

  it('keeps the process alive until it has joined, and not after that', async () => {
    const world = new World();
    const joining = world
      .member('a', {}, world.connect({ latencyMs: 1 }))
      .group('g')
      .join();
    await world.pass(1);
    expect(world.clock.holds).toBe(1);
    await world.run(joining);
    expect(world.clock.holds).toBe(0);
  });

  it('rejects with an error that a retry does not solve, and may be called again', async () => {
    const world = new World();
    const behind = world.connect();
    let allowed = false;
    const store = relay(behind, {
      grantLease: (...call) =>
        allowed ? behind.grantLease(...call) : Promise.reject(new StoreError('PERMISSION_DENIED', 'refused', 'no')),
    });
    const group = world.member('a', {}, store).group('g');
    await expect(world.run(group.join())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    allowed = true;
    await world.run(group.join());
    expect(world.server.keys()).toContain('groups/g/a');
  });

  it('that nobody awaits does not end the program when the member closes or leaves', async () => {
    for (const isClosing of [true, false]) {
      const world = new World();
      const store = world.connect();
      store.link.cutOff();
      const member = world.member('a', {}, store);
      const group = member.group('g');
      // An unhandled rejection fails this test run.
      void group.join();
      await world.pass(100);
      await world.run(isClosing ? member.close() : group.leave());
      await world.pass();
      await world.close();
    }
  });

  it('rejects with the reason of its signal', async () => {
    const world = new World();
    const store = world.connect();
    store.link.cutOff();
    const caller = new AbortController();
    const joining = track(world.member('a', {}, store).group('g').join({ signal: caller.signal }));
    await world.pass(100);
    caller.abort(new Error('enough'));
    await world.pass();
    expect([joining.error, world.clock.holds]).toMatchObject([{ message: 'enough' }, 0]);
    await world.close();
    expect(world.clock.timers).toBe(0);
  });

  it('does not join with a signal that has aborted before', async () => {
    const world = new World();
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(world.run(world.member('a').group('g').join({ signal }))).rejects.toThrow('too late');
    await world.pass(1_000);
    expect(world.server.keys()).toEqual([]);
  });
});

describe('a member that cannot stay in its group', () => {
  const OUT = 'this member is not in its group any more, and fails to join it again';
  const BACK = 'this member is in its group again';

  it('says so once if its id was taken, and stays out', async () => {
    const world = new World();
    await world.run(world.member('a').group('g').join());
    const late = world.member('a', { onDuplicate: 'replace' });
    await world.run(late.group('g').join());
    await world.pass(10 * TTL_MS);
    const [event, ...more] = world.events.about(OUT);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ group: 'g', err: expect.objectContaining({ code: 'DUPLICATE_MEMBER' }) });
    await world.close();
    world.expectNothingLeft();
  });

  it('joins again when the store allows it again', async () => {
    const world = new World();
    const permission = new Permission(world.connect());
    const group = world.member('a', {}, permission.store).group('g');
    await world.run(group.join());
    permission.denied = true;
    world.server.deleteKey('groups/g/a');
    await world.pass(10 * TTL_MS);
    expect(world.events.about(OUT)).toMatchObject([{ group: 'g', err: expect.objectContaining({ code: 'PERMISSION_DENIED' }) }]);
    expect(await world.run(group.members())).toEqual([]);
    permission.denied = false;
    await world.pass(40_000);
    expect(await world.run(group.members())).toMatchObject([{ memberId: 'a' }]);
    expect(world.events.about(BACK)).toMatchObject([{ group: 'g' }]);
    await world.run(group.leave());
    expect(world.server.keys()).not.toContain('groups/g/a');
  });

  it('leaves at once while it tries to join again', async () => {
    const world = new World();
    const permission = new Permission(world.connect());
    const group = world.member('a', {}, permission.store).group('g');
    await world.run(group.join());
    permission.denied = true;
    world.server.deleteKey('groups/g/a');
    await world.pass(TTL_MS);
    await world.run(group.leave());
    permission.denied = false;
    await world.pass(10 * TTL_MS);
    expect(world.server.keys()).not.toContain('groups/g/a');
    await world.close();
    world.expectNothingLeft();
  });
});

it('one member whose value the others refuse does not hide them', async () => {
  const world = new World();
  const parse = (value: unknown): number => {
    if (typeof value === 'number') return value;
    throw new TypeError('no number');
  };
  const group = world.member('a').group<number>('g', { value: 1, parse });
  await world.run(group.join());
  await world.run(world.member('b').group('g', { value: 'two' }).join());
  expect(await world.run(group.members())).toMatchObject([{ memberId: 'a', value: 1 }]);
  expect(world.events.about('that this process cannot read')).toMatchObject([
    { group: 'g', key: 'groups/g/b', err: expect.objectContaining({ code: 'FOREIGN_DATA' }) },
  ]);
});

describe('leaving', () => {
  it('removes its key, and may be followed by joining again at once', async () => {
    const world = new World();
    const group = world.member('a').group('g');
    await world.run(group.join());
    const leaving = group.leave();
    await world.run(group.join());
    await world.run(leaving);
    await world.pass(1_000);
    expect(world.server.keys()).toContain('groups/g/a');
    await world.run(group.leave());
    await world.run(group.leave());
    expect(world.server.keys()).toEqual(['members/a']);
  });

  it('is over when it is certain: nothing is looked for afterwards', async () => {
    const world = new World();
    const group = world.member('a').group('g');
    await world.run(group.join());
    await world.run(group.leave());
    const { read, compareAndSwap } = world.server.requests;
    await world.pass(10 * TTL_MS);
    expect(world.server.requests).toMatchObject({ read, compareAndSwap });
  });

  it('is nothing where it has not joined', async () => {
    const world = new World();
    await world.run(world.member('a').group('g').leave());
    expect(world.server.keys()).toEqual([]);
  });

  it('is certain: tried again while the store cannot be reached, and a put that comes late is removed', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const group = member.group('g');
    await world.run(member.group('other').join());
    store.link.holdWrites('compareAndSwap');
    track(group.join());
    await world.pass(CALL_MS + 10);
    const leaving = track(group.leave());
    store.link.holdWrites('revokeLease');
    await world.pass(CALL_MS);
    expect(leaving.state).toBe('resolved');
    store.link.release();
    expect(world.server.keys()).toContain('groups/g/a');
    await world.pass(2 * TTL_MS);
    expect(world.server.keys().toSorted()).toEqual(['groups/other/a', 'members/a']);
  });
});

it('the views of a group end at once when the reader leaves while it waits for a change', async () => {
  const world = new World();
  const views = world.member('a').group('g').views();
  await world.run(views.next());
  const waiting = track(views.next());
  await world.pass(10);
  const left = track(views.return());
  await world.pass();
  expect([waiting.value, left.state, world.clock.holds]).toEqual([{ done: true, value: undefined }, 'resolved', 0]);
});

it('closing its member ends a group: views, watch and key', async () => {
  const world = new World();
  const member = world.member('a');
  const group = member.group('g');
  const reading = track(
    (async (): Promise<void> => {
      for await (const members of group.views()) void members;
    })(),
  );
  await world.run(group.join());
  await world.run(member.close());
  await world.pass();
  expect(reading.state).toBe('resolved');
  world.expectNothingLeft();
});

it('the views of a group whose member was closed end at once, without the last list', async () => {
  const world = new World();
  const member = world.member('a');
  const group = member.group('g');
  await world.run(group.join());
  const views = group.views();
  await world.run(views.next());
  const early = group.views();
  await world.run(member.close());
  for (const each of [views, early, group.views()]) expect(await world.run(each.next())).toEqual({ done: true, value: undefined });
  const seen: unknown[] = [];
  group.subscribe((members) => seen.push(members));
  expect(seen).toEqual([]);
  world.expectNothingLeft();
});
