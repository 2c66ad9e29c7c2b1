import { describe, expect, it } from 'vitest';
import type { Change, Entry, Leadership, MemberOptions, OnDuplicate, Store } from '../../src/index.ts';
import { relay, timeout } from '../support/relay.ts';
import { quiet, track } from '../support/track.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

/** A member of this id leads, on a link that can be broken. */
async function former(
  options: MemberOptions = {},
): Promise<{ readonly world: World; readonly first: Leadership; readonly cut: () => void }> {
  const world = new World();
  const store = world.connect();
  const first = await world.elect(world.member('a', options, store));
  return { world, first, cut: () => store.link.cutOff() };
}

function restarted(world: World, onDuplicate: OnDuplicate, options: MemberOptions = {}): Promise<Leadership> {
  return world
    .member('a', { onDuplicate, ...options })
    .election(NAME)
    .campaign();
}

describe('a member', () => {
  it('holds its id by a key under its lease, with its incarnation and its ttl', async () => {
    const { world } = await former();
    expect(world.json('members/a')).toEqual({ v: 1, incarnation: expect.any(String), ttlMs: TTL_MS, startedAt: expect.any(Number) });
    expect(world.server.leases().map(({ keys }) => keys.toSorted())).toEqual([
      [expect.stringMatching(/candidates\/a~/), `elections/${NAME}/leader`, 'members/a'],
    ]);
  });

  it('opens one session for all its elections and groups', async () => {
    const world = new World();
    const member = world.member('a');
    await world.run(Promise.all([...['x', 'y', 'z'].map((name) => member.election(name).campaign()), member.group('g').join()]));
    expect(world.server.requests.grantLease).toBe(1);
  });

  it('that finds its own key of an earlier try takes it over', async () => {
    const world = new World();
    const store = world.connect();
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    store.link.dropRequests(1, { operations: ['revokeLease'], how: 'reset' });
    const leadership = await world.elect(world.member('a', {}, store));
    expect(world.clock.monotonic()).toBeLessThan(TTL_MS);
    expect(leadership.isValid()).toBe(true);
  });

  it('revokes the lease of a registration that failed', async () => {
    const world = new World();
    world.put('members/a', 'hello');
    await expect(world.run(restarted(world, 'wait'))).rejects.toMatchObject({ code: 'FOREIGN_DATA' });
    expect(world.server.leases()).toEqual([]);
  });

  it('whose key was deleted creates it again, and continues to lead', async () => {
    const { world, first } = await former();
    world.server.deleteKey('members/a');
    await world.pass(1_000);
    expect([world.server.keys().includes('members/a'), first.isValid()]).toEqual([true, true]);
  });

  it('takes a lease as long as it asked for, whatever pace of renewals it was allowed to choose', async () => {
    const world = new World();
    const leadership = await world.run(restarted(world, 'wait', { renewEveryMs: 5_600 }));
    await world.pass(10 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
  });

  it('refuses a lease that is too short to lead by, by name', async () => {
    const world = new World();
    const store = world.connect();
    const stingy = relay(store, { grantLease: (_, options) => store.grantLease(1_500, options) });
    const campaign = world.member('a', { drainMs: 1_000 }, stingy).election(NAME).campaign();
    await expect(world.run(campaign)).rejects.toMatchObject({ code: 'LEASE_TOO_SHORT', details: { askedMs: TTL_MS, grantedMs: 1_500 } });
    expect(world.server.leases()).toEqual([]);
  });
});

describe("a restarted process that waits for its former self's lease", () => {
  it('leads when that has ended, and not before', async () => {
    const { world, first, cut } = await former();
    cut();
    const again = track(restarted(world, 'wait'));
    await world.pass(TTL_MS - 1);
    expect([again.state, first.isValid()]).toEqual(['pending', false]);
    await world.pass(100);
    expect(again.value?.term).toBe(2n);
    expect(world.events.about('another process').length).toBe(1);
  });

  it('waits for as long as the store may keep a lease that nobody renews, if that is longer than twice the ttl', async () => {
    const { world } = await former();
    const behind = world.connect();
    const store = relay(behind, { capabilities: { ...behind.capabilities, expiresWithinMs: (ttlMs) => 3 * ttlMs } });
    const again = track(world.member('a', {}, store).election(NAME).campaign());
    await world.pass(3 * TTL_MS - 1);
    expect(again.state).toBe('pending');
    await world.pass(100);
    expect(again.error).toMatchObject({ code: 'DUPLICATE_MEMBER', details: { memberId: 'a', waitedMs: 3 * TTL_MS } });
  });

  it('gives up after twice the ttl, the longer of both', async () => {
    const { world, first } = await former();
    const again = track(restarted(world, 'wait', { ttlMs: 5_000 }));
    await world.pass(2 * TTL_MS - 1);
    expect(again.state).toBe('pending');
    await world.pass(10);
    expect(again.error).toMatchObject({ code: 'DUPLICATE_MEMBER', details: { memberId: 'a', waitedMs: 2 * TTL_MS } });
    expect(first.isValid()).toBe(true);
    expect(world.server.leases().length).toBe(1);
  });

  it('says how long it waited, who holds the id, and what there is to choose', async () => {
    const { world } = await former({ host: 'web-1' });
    const again = track(restarted(world, 'wait'));
    await world.pass(2 * TTL_MS + 10);
    const { startedAt } = world.json('members/a') ?? {};
    expect(again.error).toMatchObject({
      details: { memberId: 'a', waitedMs: 2 * TTL_MS, host: 'web-1', startedAt },
      message:
        `another process holds the member id "a" (on host "web-1", started ${(2 * TTL_MS) / 1_000} s ago), ` +
        `and still does after a wait of ${(2 * TTL_MS) / 1_000}.0 s. Give each process its own memberId, or choose onDuplicate: ` +
        "with 'wait', a member waits until the lease of a former process has ended; " +
        "with 'refuse', it fails at once; with 'replace', it takes the id over",
    });
    expect(world.events.about('member id')).toMatchObject([{ host: 'web-1', startedAt, longestWaitMs: 2 * TTL_MS }]);
  });

  it.each([
    [90_000, '90 s'],
    [150_000, '2 minutes'],
    [7_200_000, '2 hours'],
    [300_000_000, '3 days'],
  ])('shows an age of %i ms as %s', async (ageMs, shown) => {
    const world = new World();
    world.put('members/a', { v: 1, incarnation: 'other', ttlMs: TTL_MS, startedAt: world.clock.wall() - ageMs });
    await expect(world.run(restarted(world, 'refuse'))).rejects.toThrow(`"a" (started ${shown} ago). Give each`);
  });

  it.each([
    ['of an older version', {}, {}, /"a", and still/],
    ['with other types', { host: 5, startedAt: 'x' }, {}, /"a", and still/],
    [
      'with a time that is none, and text that a terminal would execute',
      { host: '\u001b[2J', startedAt: 1e300 },
      {},
      /\(on host "\\u001b\[2J"\), and/,
    ],
  ])('reads a record %s', async (_, fields, details, message) => {
    const world = new World();
    world.put('members/a', { v: 1, incarnation: 'other', ttlMs: TTL_MS, ...fields });
    const again = track(restarted(world, 'wait'));
    await world.pass(2 * TTL_MS + 10);
    expect(again.error).toMatchObject({ code: 'DUPLICATE_MEMBER', details, message: expect.stringMatching(message) });
  });

  it('stops waiting when its caller gives up, and leaves nothing', async () => {
    const { world } = await former();
    const caller = new AbortController();
    const again = track(world.member('a').election(NAME).campaign({ signal: caller.signal }));
    await world.pass(1_000);
    caller.abort(new Error('enough'));
    await world.pass(10);
    expect(again.error).toMatchObject({ message: 'enough' });
    expect([world.server.leases().length, world.clock.holds]).toEqual([1, 1]);
  });
});

describe('a process that refuses', () => {
  it('fails at once with DUPLICATE_MEMBER, and leaves the other alone', async () => {
    const { world, first } = await former();
    await expect(world.run(restarted(world, 'refuse'), 100)).rejects.toMatchObject({
      code: 'DUPLICATE_MEMBER',
      details: { memberId: 'a', waitedMs: 0 },
    });
    expect([first.isValid(), world.server.leases().length]).toEqual([true, 1]);
  });
});

describe('a process that replaces', () => {
  it('makes the other one stop in order, which does not come back, and leads after it', async () => {
    const world = new World();
    const old = world.member('a');
    const terms: bigint[] = [];
    let stoppedAt = Number.NaN;
    const leading = track(
      old.election(NAME).lead(async ({ term, ended }) => {
        terms.push(term);
        await ended;
        await new Promise<void>((resolve) => {
          world.clock.schedule(300, resolve);
        });
        stoppedAt = world.clock.monotonic();
      }),
    );
    await world.pass(100);
    const again = track(restarted(world, 'replace'));
    await world.pass(299);
    expect(again.state).toBe('pending');
    await world.pass(1_000);
    expect(again.value?.term).toBe(2n);
    expect([stoppedAt, terms]).toEqual([400, [1n]]);
    await world.pass(TTL_MS);
    expect(leading.error).toMatchObject({
      code: 'DUPLICATE_MEMBER',
      message: expect.stringContaining('another process has taken the member id "a"'),
    });
    expect(again.value?.isValid()).toBe(true);
  });

  it('leads no sooner than the lease of an unreachable process would have ended', async () => {
    const { world, first, cut } = await former();
    cut();
    const again = track(restarted(world, 'replace'));
    for (let passed = 0; passed < 2 * TTL_MS; passed += 10) {
      await world.pass(10);
      expect(again.value?.isValid() === true && first.isValid(), `both are valid after ${passed} ms`).toBe(false);
    }
    expect(again.value?.term).toBe(2n);
  });

  it('is not replaced by the unreachable process when that comes back', async () => {
    const world = new World();
    const store = world.connect();
    const old = track(
      world
        .member('a', { onDuplicate: 'replace' }, store)
        .election(NAME)
        .lead(async ({ ended }) => void (await ended)),
    );
    await world.pass(100);
    store.link.cutOff();
    const again = track(restarted(world, 'replace'));
    await world.pass(2 * TTL_MS);
    store.link.heal();
    await world.pass(4 * TTL_MS);
    expect(old.error).toMatchObject({ code: 'DUPLICATE_MEMBER' });
    expect([again.value?.term, again.value?.isValid()]).toEqual([2n, true]);
  });

  it('takes the id from a key that lives by no lease', async () => {
    const world = new World();
    world.put('members/a', { v: 1, incarnation: 'gone', ttlMs: 1_000 });
    const leadership = await world.run(restarted(world, 'replace'), 10_000);
    expect(leadership.isValid()).toBe(true);
    expect(world.json('members/a')).not.toMatchObject({ incarnation: 'gone' });
  });
});

it.each([5, null, 'x'.repeat(256)])('host is text, and not %s', (host) => {
  const world = new World();
  expect(() => Reflect.apply(world.member, world, ['a', { host }])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
});

it.each(['wiat', 5, null])('onDuplicate is one of three words, and not %s', (onDuplicate) => {
  const world = new World();
  expect(() => Reflect.apply(world.member, world, ['a', { onDuplicate }])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
});

const KEY = 'members/a';
const restores = (changes: readonly Change[]): boolean => changes.length === 1 && changes[0]?.key === KEY;

describe("a member's key", () => {
  it('that an operator deletes is put there again, though the first tries fail', async () => {
    const world = new World();
    const link = world.connect();
    let failures = 0;
    const store = relay(link, {
      compareAndSwap: async (changes, options) => {
        if (failures === 0 || !restores(changes)) return link.compareAndSwap(changes, options);
        failures -= 1;
        throw timeout();
      },
    });
    const leadership = await world.elect(world.member('a', {}, store));
    failures = 3;
    world.server.deleteKey(KEY);
    await world.pass(2 * TTL_MS);
    expect(world.entry(KEY)).toBeDefined();
    expect(leadership.isValid()).toBe(true);
    await world.close();
  });

  it('says for how long the lease was granted, restored or not', async () => {
    const world = new World();
    const link = world.connect();
    const store = relay(link, { grantLease: async (_, options) => link.grantLease(2 * TTL_MS, options) });
    await world.elect(world.member('a', {}, store));
    const before = world.json(KEY);
    world.server.deleteKey(KEY);
    await world.pass(100);
    expect(world.json(KEY)).toEqual(before);
    await world.close();
  });

  it('is not lost when the watch still shows the key of the former holder', async () => {
    const world = new World();
    const link = world.connect();
    const leadership = await world.elect(world.member('a', {}, late(link)));
    await world.pass(TTL_MS);
    expect(leadership.isValid()).toBe(true);
    await world.close();
  });

  it('that another process takes ends the session, though the store fails for a moment', async () => {
    const world = new World();
    const link = world.connect();
    const first = world.member('a', {}, link);
    const leadership = await world.elect(first);
    const other = quiet(world.member('a', { onDuplicate: 'replace' }, world.connect()).election(NAME).campaign());
    link.link.dropReplies(2, { operations: ['compareAndSwap'], how: 'reset' });
    await world.pass(TTL_MS);
    expect((await leadership.ended).reason).toBe('replaced');
    expect((await other).isValid()).toBe(true);
    await expect(world.elect(first)).rejects.toMatchObject({ code: 'DUPLICATE_MEMBER' });
    await world.close();
  });
});

/** A store whose watch of the member's key first yields the record of an earlier process. */
function late(behind: Store): Store {
  const previous: Entry = {
    key: KEY,
    name: 'a',
    value: new TextEncoder().encode('{"v":1,"incarnation":"former","ttlMs":2000}'),
    revision: '1',
    order: 1n,
  };
  return relay(behind, {
    watch: (key, options) => (key === KEY ? after(previous, behind.watch(key, options)) : behind.watch(key, options)),
  });
}

async function* after<T>(first: T, states: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  yield first;
  yield* states;
}
