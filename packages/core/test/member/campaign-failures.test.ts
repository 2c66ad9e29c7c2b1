/** Campaigns whose calls fail: they go on, without a tight loop, and answer only for themselves. */

import { describe, expect, it } from 'vitest';
import { type Change, StoreError } from '../../src/index.ts';
import { Permission, relay, timeout } from '../support/relay.ts';
import { quiet } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

const isClaim = ([first]: readonly Change[]): boolean => first?.key === LEADER && 'put' in first && first.expect === null;

describe('a campaign', () => {
  it('that is aborted while the store refuses at once does not keep the event loop busy', async () => {
    const world = new World();
    const link = world.connect();
    await world.elect(world.member('a'));
    let refusing = false;
    let refused = 0;
    const store = relay(link, {
      compareAndSwap: async (changes, options) => {
        if (!refusing) return link.compareAndSwap(changes, options);
        refused += 1;
        // Without this the test would never end: no timer, and so no deadline, comes between two
        // tries.
        if (refused > 1_000) return new Promise(() => {});
        throw new StoreError('UNREACHABLE', 'notSent', 'nobody is there');
      },
    });
    const aborter = new AbortController();
    void quiet(world.member('b', {}, store).election(NAME).campaign({ signal: aborter.signal }));
    await world.until(() => world.queue().length === 2);
    await world.pass(50);
    refusing = true;
    aborter.abort();
    await world.pass(TTL_MS / 2);
    expect(refused).toBeLessThan(100);
  });

  it('of a restarted process goes on although its link was cut while it waited for its former self', async () => {
    const world = new World();
    const former = world.connect();
    await world.elect(world.member('a', {}, former));
    former.link.cutOff();
    const link = world.connect();
    const campaign = quiet(world.member('a', {}, link).election(NAME).campaign());
    await world.pass(50);
    link.link.cutOff();
    await world.pass(3 * TTL_MS);
    expect(world.server.leases()).toEqual([]);
    link.link.heal();
    await expect(world.run(campaign)).resolves.toMatchObject({ memberId: 'a' });
  });

  it("does not reject with the reason of an earlier one's abort", async () => {
    const world = new World();
    await world.run(world.member('a').group('g').join());
    const a = world.member('a', {}, world.connect({ latencyMs: 20 }));
    const election = a.election(NAME);
    const aborter = new AbortController();
    const first = quiet(election.campaign({ signal: aborter.signal }));
    // Waits for the other process of this member id.
    await world.pass(200);
    aborter.abort(new Error('the first one was given up'));
    await expect(world.run(first)).rejects.toThrow('the first one was given up');
    await expect(world.run(election.campaign())).rejects.toMatchObject({ code: 'DUPLICATE_MEMBER' });
  });

  it("of another election does not reject with the reason of this one's abort", async () => {
    const world = new World();
    const a = world.member('a', {}, world.connect({ latencyMs: 20 }));
    const caller = new AbortController();
    const first = quiet(a.election('one').campaign({ signal: caller.signal }));
    // The session that both elections share is being opened.
    await world.pass(50);
    caller.abort(new Error('the first one was given up'));
    await expect(world.run(first)).rejects.toThrow('the first one was given up');
    await expect(world.run(a.election('two').campaign())).resolves.toMatchObject({ memberId: 'a' });
  });

  it('does not read without a pause when the term key is gone while it confirms its claim', async () => {
    const world = new World();
    const link = world.connect();
    const store = relay(link, {
      compareAndSwap: async (changes: readonly Change[], options) => {
        const result = await link.compareAndSwap(changes, options);
        if (changes[0]?.key !== LEADER) return result;
        world.server.deleteKey(TERM);
        throw timeout();
      },
    });
    void quiet(world.member('a', {}, store).election(NAME).campaign());
    await world.until(() => world.entry(LEADER) !== undefined);
    const before = world.server.requests.read;
    await world.pass(10 * TTL_MS);
    expect(world.server.requests.read - before).toBeLessThan(1_000);
  });
});

describe('a claim of unknown outcome', () => {
  it.each([
    ['deletes', (world: World) => void world.server.deleteKey(TERM)],
    [
      'raises',
      (world: World) =>
        world.server.put(TERM, new TextEncoder().encode(JSON.stringify({ ...world.json(TERM), term: '90', entry: 'nobody' }))),
    ],
  ])('does not hold the election up for ever when somebody %s the term before it is read back', async (_, meddle) => {
    const world = new World();
    const link = world.connect();
    let claims = 0;
    const store = relay(link, {
      compareAndSwap: async (changes, options) => {
        const result = await link.compareAndSwap(changes, options);
        if (!isClaim(changes) || (claims += 1) > 1) return result;
        meddle(world);
        throw timeout();
      },
    });
    const campaign = quiet(world.member('a', {}, store).election(NAME).campaign());
    expect(await world.settles(campaign, 10 * TTL_MS)).toBe(true);
    expect((await campaign).isValid()).toBe(true);
    await world.close();
  });
});

describe('a session that lives for weeks', () => {
  it('removes the orphans of fifty failed campaigns, and never the entry that it leads with', async () => {
    const world = new World();
    const permission = new Permission(world.connect(), { applies: isClaim });
    permission.denied = true;
    const election = world.member('a', {}, permission.store).election(NAME);
    for (let i = 0; i < 50; i += 1) await expect(world.run(election.campaign())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    permission.denied = false;
    const leadership = await world.run(election.campaign());
    await world.pass(100 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
    expect(world.server.keys().filter((key) => key.startsWith(CANDIDATES)).length).toBe(1);
    await world.close();
    expect(world.clock.timers).toBe(0);
  });
});
