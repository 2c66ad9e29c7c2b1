import { describe, expect, it } from 'vitest';
import { byPriority, Member, StoreError, type LeadershipEnd, type MemberOptions } from '../src/index.ts';
import { relay } from './support/relay.ts';
import { seeded } from './support/random.ts';
import { track } from './support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from './support/world.ts';

const CALL_MS = 2_500;
const DRAIN_MS = 1_000;

function pause(world: World, ms: number): Promise<void> {
  return new Promise((resolve) => {
    world.clock.schedule(ms, resolve);
  });
}

describe('a member', () => {
  it('does nothing until it is asked for something', async () => {
    const world = new World();
    const member = world.member('a');
    member.election(NAME);
    member.group('g');
    await world.pass(TTL_MS);
    expect(member.state).toBe('idle');
    expect(Object.values(world.server.requests).every((count) => count === 0)).toBe(true);
    expect([world.clock.timers, world.clock.holds, world.server.watches.open]).toEqual([0, 0, 0]);
  });

  it('has a random id unless it is given one, and another incarnation every time', () => {
    const world = new World();
    const store = world.connect();
    const members = [1, 2].map((seed) => new Member(store, { clock: world.clock, random: seeded(seed) }));
    expect(members.map(({ memberId }) => memberId)).toEqual([
      expect.stringMatching(/^[0-9a-v]{12}$/),
      expect.stringMatching(/^[0-9a-v]{12}$/),
    ]);
    expect(new Set(members.flatMap(({ memberId, incarnation }) => [memberId, incarnation])).size).toBe(4);
  });

  it('says how it stands with the store', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const leadership = await world.run(member.election(NAME).campaign());
    expect(member.state).toBe('live');
    store.link.cutOff();
    await world.pass(7_000);
    expect(member.state).toBe('suspect');
    await world.pass(2_500);
    expect([member.state, leadership.isValid()]).toEqual(['idle', false]);
    store.link.heal();
    await world.run(member.close());
    expect(member.state).toBe('closed');
  });

  it.each([
    ['a store that is none', undefined, {}],
    ['a promise of a store', Promise.resolve({}), {}],
    ['a misspelt option', 'store', { ttl: 5 }],
    ['a name that is none', 'store', { memberId: 'a/b' }],
    ['a logger that is none', 'store', { logger: { info: () => {} } }],
    ['a rebalance that never comes', 'store', { rebalanceEveryMs: 1 }],
  ])('refuses %s', (_, store, options) => {
    const made = (): unknown => Reflect.construct(Member, [store === 'store' ? new World().connect() : store, options]);
    expect(made).toThrow(expect.objectContaining({ code: expect.stringMatching(/INVALID_(OPTION|NAME)/) }));
  });

  it('warns of a store that may end a live lease', () => {
    const world = new World({ endsEarly: 'it is old' });
    world.member('a');
    expect(world.events.about('may end a lease')).toMatchObject([{ why: 'it is old', memberId: 'a' }]);
  });
});

describe('closing', () => {
  it('ends leaderships, candidacies and groups, and leaves nothing', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    const leadership = await world.run(a.election(NAME).campaign());
    const other = track(a.election('other').lead(async ({ ended }) => void (await ended)));
    await world.run(a.group('g').join());
    const waiting = track(b.election(NAME).campaign());
    await world.pass(100);
    await world.run(Promise.all([a.close(), b.close()]));
    expect((await leadership.ended).reason).toBe('memberClosed');
    expect([waiting.error, other.error]).toMatchObject([{ code: 'MEMBER_CLOSED' }, { code: 'MEMBER_CLOSED' }]);
    world.expectNothingLeft();
  });

  it('is idempotent, and everything is refused after it', async () => {
    const world = new World();
    const member = world.member('a');
    const [election, group] = [member.election(NAME), member.group('g')];
    await world.run(Promise.all([member.close(), member.close()]));
    await world.run(member.close());
    for (const attempt of [() => member.election('x'), () => member.group('x')])
      expect(attempt).toThrow(expect.objectContaining({ code: 'MEMBER_CLOSED' }));
    for (const attempt of [election.campaign(), election.lead(() => {}), group.join()])
      await expect(attempt).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    world.expectNothingLeft();
  });

  it('is what `await using` does', async () => {
    const world = new World();
    const dispose = async (): Promise<void> => {
      await using member = world.member('a');
      await member.election(NAME).campaign();
    };
    await world.run(dispose());
    world.expectNothingLeft();
  });

  it.each(['cutOff', 'refuse', 'stall'] as const)('is bounded by the drain and a few calls when the link is dead (%s)', async (fault) => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const leader = world.member('leader');
    await world.run(leader.election('led').campaign());
    await world.run(member.election(NAME).campaign());
    track(member.election('led').campaign());
    await world.run(member.group('g').join());
    await world.pass(100);
    store.link[fault]();
    const tookMs = await world.timed(member.close());
    expect(tookMs).toBeLessThanOrEqual(DRAIN_MS + 4 * CALL_MS);
    await world.run(leader.close());
    await world.pass(TTL_MS);
    expect(world.server.keys().filter((key) => !key.endsWith('/term'))).toEqual([]);
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it('at any moment of its first campaign leaves nothing', async () => {
    for (let atMs = 0; atMs <= 14; atMs += 1) {
      const world = new World();
      const member = world.member('a', {}, world.connect({ latencyMs: 1 }));
      const campaign = track(member.election(NAME).campaign());
      await world.pass(atMs);
      await world.run(member.close());
      await world.pass(10);
      expect(campaign.state, `closed after ${atMs} ms`).not.toBe('pending');
      // A lease that was just being asked for is nobody's, and ends by itself.
      expect(world.server.leases().flatMap(({ keys }) => keys)).toEqual([]);
      await world.pass(TTL_MS);
      world.expectNothingLeft();
    }
  });

  it('at any moment of a first campaign that rebalances leaves nothing', async () => {
    for (let atMs = 8; atMs <= 14; atMs += 1) {
      const world = new World();
      const member = world.member('a', {}, world.connect({ latencyMs: 1 }));
      track(member.election(NAME, { succession: byPriority(1, { rebalance: true }) }).campaign());
      await world.pass(atMs);
      await world.run(member.close());
      await world.pass(10);
      world.expectNothingLeft();
    }
  });

  it('while the store cannot be reached, and no session was ever opened, is quick', async () => {
    const world = new World();
    const store = world.connect();
    store.link.refuse();
    const member = world.member('a', {}, store);
    const campaign = track(member.election(NAME).campaign());
    await world.pass(10_000);
    expect(await world.timed(member.close())).toBeLessThanOrEqual(CALL_MS);
    expect(campaign.error).toMatchObject({ code: 'MEMBER_CLOSED' });
    world.expectNothingLeft();
  });

  it('does not give the lease away before the work has stopped', async () => {
    const world = new World();
    const member = world.member('a');
    let stopped = false;
    track(
      member.election(NAME).lead(async ({ ended }) => {
        await ended;
        await pause(world, 700);
        stopped = world.server.keys().includes('members/a') && world.queue().length === 1;
      }),
    );
    await world.pass(100);
    await world.run(member.close());
    expect(stopped).toBe(true);
    world.expectNothingLeft();
  });
});

describe('shutdown', () => {
  it('hands each leadership to the next in succession, and resigns where there is none', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    const ends: Promise<LeadershipEnd>[] = [];
    for (const name of ['x', 'y']) ends.push((await world.run(a.election(name).campaign())).ended);
    const next = track(b.election('x').campaign());
    await world.pass(20);
    await world.run(a.shutdown());
    expect((await Promise.all(ends)).map(({ reason }) => reason)).toEqual(['handover', 'memberClosed']);
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
    await world.run(b.close());
    world.expectNothingLeft();
  });

  it('without handover resigns them all', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    const leadership = await world.run(a.election(NAME).campaign());
    const next = track(b.election(NAME).campaign());
    await world.pass(20);
    await world.run(a.shutdown({ handover: false }));
    expect((await leadership.ended).reason).toBe('memberClosed');
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
  });

  it.each(['cutOff', 'refuse'] as const)('returns in time with a dead link (%s), and never rejects', async (fault) => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    await world.run(member.election(NAME).campaign());
    store.link[fault]();
    expect(await world.timed(member.shutdown({ timeoutMs: 3_000 }))).toBeLessThanOrEqual(3_000);
    await world.pass(2 * TTL_MS);
    expect([world.clock.timers, world.clock.holds]).toEqual([0, 0]);
  });

  it('with hardly any time still releases nothing before the work has stopped', async () => {
    const world = new World();
    const member = world.member('a', {}, world.connect({ latencyMs: 50 }));
    let working = false;
    track(
      member.election(NAME).lead(async ({ ended }) => {
        working = true;
        await ended;
        await pause(world, 600);
        working = false;
      }),
    );
    await world.until(() => working, 'it leads');
    const next = track(world.member('b').election(NAME).campaign());
    await world.pass(100);
    const closing = member.shutdown({ timeoutMs: 60 });
    expect(await world.timed(closing)).toBeLessThanOrEqual(60);
    await world.until(() => next.state !== 'pending', 'the next one leads');
    expect(working).toBe(false);
  });

  it('may be called again, and after close, and takes no more than its own time', async () => {
    const world = new World();
    const member = world.member('a');
    await world.run(member.election(NAME).campaign());
    await world.run(Promise.all([member.shutdown(), member.shutdown({ timeoutMs: 10 }), member.close()]));
    await world.run(member.shutdown());
    world.expectNothingLeft();
  });

  it.each([{ timeoutMs: 0 }, { timeoutMs: Number.NaN }, { handover: 'b' }, { handover: true }, { timeout: 5 }])(
    'refuses %j',
    async (options) => {
      const member = new World().member('a');
      await expect(Reflect.apply(member.shutdown, member, [options])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      expect(member.state).toBe('idle');
    },
  );
});

describe('a lost session', () => {
  it('is followed by another one, in which the member campaigns and joins again', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const terms: bigint[] = [];
    track(
      member.election(NAME).lead(async ({ term, ended }) => {
        terms.push(term);
        await ended;
      }),
    );
    await world.run(member.group('g').join());
    store.link.cutOff();
    await world.pass(TTL_MS + 5_000);
    store.link.heal();
    await world.pass(TTL_MS);
    expect(terms).toEqual([1n, 2n]);
    expect(
      world.server
        .keys()
        .filter((key) => key.includes('/a'))
        .toSorted(),
    ).toEqual([expect.stringMatching(/candidates\/a~/), 'groups/g/a', 'members/a']);
    expect(world.server.leases().length).toBe(1);
  });

  it('has its lease revoked after the drains, and not before', async () => {
    const world = new World();
    const member = world.member('a', { drainMs: 2_000 });
    const leadership = await world.run(member.election(NAME).campaign());
    leadership.waitUntil(pause(world, 1_500 + 500));
    const lease = world.leaseOf('a');
    const isLive = (): boolean => world.server.leases().some(({ id }) => id === lease);
    await world.pass(500);
    world.clock.advanceWall(3_600_000);
    expect(leadership.isValid()).toBe(false);
    await world.pass(1_499);
    expect(isLive()).toBe(true);
    await world.pass(10);
    expect(isLive()).toBe(false);
  });

  it('whose lease the store has ended is not revoked again', async () => {
    const world = new World();
    const member = world.member('a');
    await world.run(member.election(NAME).campaign());
    world.server.expireLease(world.leaseOf('a'));
    await world.pass(TTL_MS);
    expect(world.server.requests.revokeLease).toBe(0);
  });
});

describe('opening a session', () => {
  it('that one caller gives up does not fail another who asks meanwhile', async () => {
    const world = new World();
    const store = world.connect({ latencyMs: 20 });
    const member = world.member('a', {}, store);
    const caller = new AbortController();
    const first = track(member.election('x').campaign({ signal: caller.signal }));
    await world.pass(50);
    caller.abort(new Error('mine alone'));
    const second = track(member.election('y').campaign());
    await world.pass(1_000);
    expect(first.error).toMatchObject({ message: 'mine alone' });
    expect(second.value?.isValid()).toBe(true);
  });

  it('is given up when nobody wants it any more, and its lease revoked', async () => {
    const world = new World();
    const member = world.member('a', {}, world.connect({ latencyMs: 20 }));
    const caller = new AbortController();
    track(member.election('x').campaign({ signal: caller.signal }));
    await world.pass(60);
    expect(world.server.leases().length).toBe(1);
    caller.abort();
    await world.pass(1_000);
    expect([world.server.leases(), world.clock.timers]).toEqual([[], 0]);
  });

  it('goes on while somebody wants it', async () => {
    const world = new World();
    const member = world.member('a', {}, world.connect({ latencyMs: 20 }));
    const caller = new AbortController();
    track(member.election('x').campaign({ signal: caller.signal }));
    const other = track(member.election('y').campaign());
    await world.pass(60);
    caller.abort();
    await world.pass(1_000);
    expect([other.state, world.server.requests.grantLease]).toEqual(['resolved', 1]);
  });

  it('fails all who wait for it on what waiting does not mend', async () => {
    const world = new World();
    const denied = new StoreError('PERMISSION_DENIED', 'refused', 'no');
    const store = relay(world.connect(), { grantLease: () => Promise.reject(denied) });
    const member = world.member('a', {}, store);
    const campaigns = ['x', 'y'].map((name) => track(member.election(name).campaign()));
    await world.pass(100);
    expect(campaigns.map(({ error }) => error)).toEqual([denied, denied]);
  });
});

describe('rebalancing', () => {
  const succession = (priority: number): MemberOptions & { readonly priority: number } => ({ rebalanceEveryMs: 1_000, priority });

  async function lead(world: World, memberId: string, priority: number): Promise<bigint[]> {
    const { priority: rank, ...options } = succession(priority);
    const terms: bigint[] = [];
    const election = world.member(memberId, options).election(NAME, { succession: byPriority(rank, { rebalance: true }) });
    track(
      election.lead(async ({ term, ended }) => {
        terms.push(term);
        await ended;
      }),
    );
    await world.pass(100);
    return terms;
  }

  it('hands over to whoever is preferred, once it comes, and stays there', async () => {
    const world = new World();
    const low = await lead(world, 'low', 1);
    const high = await lead(world, 'high', 2);
    await world.pass(5_000);
    expect([low, high]).toEqual([[1n], [2n]]);
    await world.pass(60_000);
    expect([low, high]).toEqual([[1n], [2n]]);
    expect(world.events.about('preferred')).toMatchObject([{ to: 'high', term: 1n }]);
  });

  it('costs one request a turn at most, however many elections are led', async () => {
    const world = new World();
    const member = world.member('a', { rebalanceEveryMs: 1_000 });
    const names = Array.from({ length: 20 }, (_, i) => `e${i}`);
    await world.run(Promise.all(names.map((name) => member.election(name, { succession: byPriority(1, { rebalance: true }) }).campaign())));
    const before = world.server.requests.list;
    await world.pass(10_000);
    expect(world.server.requests.list - before).toBeLessThanOrEqual(10);
  });

  it('goes on after a turn that failed', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(
      world
        .member('low', { rebalanceEveryMs: 1_000 }, store)
        .election(NAME, { succession: byPriority(1, { rebalance: true }) })
        .campaign(),
    );
    store.link.dropRequests(1, { verbs: ['list'], how: 'reset' });
    await world.pass(1_500);
    const high = track(
      world
        .member('high')
        .election(NAME, { succession: byPriority(2) })
        .campaign(),
    );
    await world.pass(5_000);
    expect([leadership.isValid(), high.value?.term]).toEqual([false, 2n]);
  });
});

it('what is written of a term survives its member', async () => {
  const world = new World();
  const member = world.member('a');
  await world.run(member.election(NAME).campaign());
  await world.run(member.close());
  expect(world.server.keys()).toEqual([TERM]);
  expect(world.json(TERM)).toMatchObject({ term: '1', memberId: 'a', ended: { reason: 'memberClosed' } });
  expect(world.json(LEADER)).toBeUndefined();
});
