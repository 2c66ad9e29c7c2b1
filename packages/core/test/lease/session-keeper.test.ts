import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/index.ts';
import { after } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

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
    expect(world.events.about('has a session again')).toEqual([]);
    store.link.heal();
    await world.pass(TTL_MS);
    expect(terms).toEqual([1n, 2n]);
    expect(world.events.about('has a session again')).toMatchObject([{ event: 'sessionReopened', lease: expect.any(String) }]);
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
    const leadership = await world.elect(member);
    leadership.waitUntil(after(world, 1_500 + 500));
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
    await world.elect(member);
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

  it('rejects for every caller with an error that a retry does not solve', async () => {
    const world = new World();
    const denied = new StoreError('PERMISSION_DENIED', 'refused', 'no');
    const store = relay(world.connect(), { grantLease: () => Promise.reject(denied) });
    const member = world.member('a', {}, store);
    const campaigns = ['x', 'y'].map((name) => track(member.election(name).campaign()));
    await world.pass(100);
    expect(campaigns.map(({ error }) => error)).toEqual([denied, denied]);
  });
});
