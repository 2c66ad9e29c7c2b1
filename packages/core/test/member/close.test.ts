import { describe, expect, it } from 'vitest';
import { byPriority, type LeadershipEnd } from '../../src/index.ts';
import { after } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { quiet, track } from '../support/track.ts';
import { NAME, TERM, TTL_MS, World } from '../support/world.ts';

const CALL_MS = 2_500;
const DRAIN_MS = 1_000;

describe('closing', () => {
  it('ends leaderships, campaigns and groups, and leaves nothing', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    const leadership = await world.elect(a);
    const other = track(a.election('other').lead(async ({ ended }) => void (await ended)));
    await world.run(a.group('g').join());
    const waiting = track(b.election(NAME).campaign());
    await world.pass(100);
    await world.run(Promise.all([a.close(), b.close()]));
    expect((await leadership.ended).reason).toBe('memberClosed');
    expect(waiting.error).toMatchObject({ code: 'MEMBER_CLOSED' });
    expect(other).toEqual({ state: 'resolved', value: undefined });
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
    for (const attempt of [election.campaign(), group.join()]) await expect(attempt).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    expect(await election.lead(() => 'led')).toBeUndefined();
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
    await world.elect(member);
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
        await after(world, 700);
        stopped = world.server.keys().includes('members/a') && world.queue().length === 1;
      }),
    );
    await world.pass(100);
    await world.run(member.close());
    expect(stopped).toBe(true);
    world.expectNothingLeft();
  });

  it('makes none of the calls that wait for a permit', async () => {
    const world = new World();
    const link = world.connect();
    const a = world.member('a', {}, link);
    await world.run(a.group('g').join());
    link.link.dropRequests(1_000_000, { operations: ['enqueue'] });
    let calls = 0;
    const counted = relay(link, {
      enqueue: (...call) => {
        calls += 1;
        return link.enqueue(...call);
      },
    });
    const b = world.member('b', {}, counted);
    for (let i = 0; i < 200; i += 1) void quiet(b.election(`e${i}`).campaign());
    await world.pass(50);
    await world.run(b.close());
    const before = calls;
    await world.pass(20 * TTL_MS);
    expect(calls - before).toBe(0);
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
    expect((await Promise.all(ends)).map(({ reason }) => reason)).toEqual(['memberClosed', 'memberClosed']);
    expect(world.json('elections/y/term')).toMatchObject({ ended: { reason: 'memberClosed' } });
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
    expect(world.json('elections/x/leader')).toMatchObject({ previous: { reason: 'handover' } });
    await world.run(b.close());
    world.expectNothingLeft();
  });

  it('without handover resigns them all', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    const leadership = await world.elect(a);
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
    await world.elect(member);
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
        await after(world, 600);
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

  it('with much time does not give more time to a close after it', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    await world.elect(member);
    store.link.stall();
    track(member.shutdown({ timeoutMs: 60_000 }));
    expect(await world.timed(member.close())).toBeLessThanOrEqual(DRAIN_MS + 3 * CALL_MS);
  });

  it('may be called again, and after close, and takes no more than its own time', async () => {
    const world = new World();
    const member = world.member('a');
    await world.elect(member);
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

it.each(['close', 'shutdown'] as const)('revokes its lease once although work that is aborted by its %s closes it too', async (how) => {
  const world = new World();
  const member = world.member('a', {}, world.connect({ latencyMs: 5 }));
  const leadership = await world.elect(member);
  let inner: Promise<void> | undefined;
  leadership.signal.addEventListener('abort', () => {
    inner = member.close();
  });
  const outer = member[how]();
  await world.run(Promise.all([outer, inner]));
  expect(world.server.keys()).toEqual([TERM]);
  expect(world.events.about('the member has closed')).toHaveLength(1);
  world.expectNothingLeft();
});
