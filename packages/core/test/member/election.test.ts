import { describe, expect, it } from 'vitest';
import { StoreError, type Leadership, type StoreErrorCode } from '../../src/index.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** A world in which another member leads, and stays alive. */
async function led(): Promise<{ readonly world: World; readonly leader: Leadership }> {
  const world = new World();
  const leader = await world.elect(world.member('leader'));
  return { world, leader };
}

describe('campaign', () => {
  it('rejects at once with the reason of a signal that has aborted, and does nothing', async () => {
    const world = new World();
    const reason = new Error('too late');
    const campaign = track(
      world
        .member('a')
        .election(NAME)
        .campaign({ signal: AbortSignal.abort(reason) }),
    );
    await world.pass(1_000);
    expect(campaign.error).toBe(reason);
    expect(world.server.requests.grantLease).toBe(0);
    world.expectNothingLeft();
  });

  it('rejects with MEMBER_CLOSED when its member closes, and when it has closed', async () => {
    const { world } = await led();
    const member = world.member('a');
    const election = member.election(NAME);
    const waiting = track(election.campaign());
    await world.pass(100);
    await world.run(member.close());
    expect(waiting.error).toMatchObject({ code: 'MEMBER_CLOSED' });
    await expect(election.campaign()).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    await world.close();
    world.expectNothingLeft();
  });

  it('rejects with ALREADY_CAMPAIGNING while one runs, and while its leadership is valid; not after that', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    const first = election.campaign();
    await expect(election.campaign()).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    const leadership = await world.run(first);
    expect(election.leadership).toBe(leadership);
    await expect(election.lead(() => {})).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    const resigning = leadership.resign();
    expect(election.leadership).toBeUndefined();
    const second = election.campaign();
    await world.run(resigning);
    expect((await world.run(second)).term).toBe(2n);
  });

  it('joins no sooner than the leadership before has drained and was released', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    await world.run(election.campaign());
    world.server.deleteKey(LEADER);
    await world.pass();
    const again = track(election.campaign());
    const enqueued = world.server.requests.enqueue;
    await world.pass(TTL_MS / 10 - 1);
    expect(world.server.requests.enqueue).toBe(enqueued);
    await world.pass(10);
    expect(again.value?.term).toBe(2n);
  });

  it('may be tried again at once after it was aborted', async () => {
    const { world, leader } = await led();
    const election = world.member('a').election(NAME);
    const caller = new AbortController();
    const first = track(election.campaign({ signal: caller.signal }));
    await world.pass(100);
    caller.abort();
    const second = election.campaign();
    await world.pass(100);
    expect(first.state).toBe('rejected');
    expect(world.queue()).toEqual(['leader', 'a']);
    await world.run(leader.resign());
    expect((await world.run(second)).memberId).toBe('a');
  });

  it.each<StoreErrorCode>(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'UNSUPPORTED', 'STORE_CLOSED'])(
    'rejects with %s, which waiting does not mend',
    async (code) => {
      const world = new World();
      const denied = new StoreError(code, 'refused', 'no');
      for (const operation of ['grantLease', 'compareAndSwap', 'enqueue', 'list', 'read'] as const) {
        const store = relay(world.connect(), { [operation]: () => Promise.reject(denied) });
        await expect(world.run(world.member(`a-${operation}`, {}, store).election(`e-${operation}`).campaign())).rejects.toBe(denied);
      }
      await world.close();
      world.expectNothingLeft();
    },
  );

  it('waits for a store that cannot be reached, for as long as it takes', async () => {
    const world = new World();
    const store = world.connect();
    store.link.refuse();
    const campaign = track(world.member('a', {}, store).election(NAME).campaign());
    await world.pass(3_600_000);
    expect(campaign.state).toBe('pending');
    store.link.heal();
    await world.pass(10_000);
    expect(campaign.value?.term).toBe(1n);
  });

  it('is not in a hurry with a store that cannot be reached', async () => {
    const world = new World();
    let calls = 0;
    const store = relay(world.connect(), {
      grantLease: () => {
        calls += 1;
        return Promise.reject(new StoreError('UNREACHABLE', 'notSent', 'down'));
      },
    });
    track(world.member('a', {}, store).election(NAME).campaign());
    await world.pass(60_000);
    expect(calls).toBeLessThan(60);
  });

  it.each([
    ['term', TERM, 'hello', 'FOREIGN_DATA'],
    ['term', TERM, { v: 2 }, 'NEWER_FORMAT'],
    ['leader', LEADER, 'hello', 'FOREIGN_DATA'],
  ])('rejects, and leaves no entry, where the %s was written by somebody else: %s', async (_, key, value, code) => {
    const world = new World();
    world.put(key, value);
    await expect(world.elect(world.member('a'))).rejects.toMatchObject({ code });
    await world.pass(1_000);
    expect(world.queue()).toEqual([]);
    world.server.deleteKey(key);
    await world.close();
    world.expectNothingLeft();
  });

  it('rejects with SUCCESSION_MISMATCH, and leaves no entry, in a queue that follows another order', async () => {
    const { world } = await led();
    world.server.put(`${CANDIDATES}/x~i~1~priority~5`, new TextEncoder().encode('{"v":1}'));
    await expect(world.elect(world.member('a'))).rejects.toMatchObject({ code: 'SUCCESSION_MISMATCH' });
    await world.pass(1_000);
    expect(world.queue()).toEqual(['leader', 'x']);
  });

  it('keeps the process alive, and so does the leadership that comes of it; nothing else does', async () => {
    const { world, leader } = await led();
    expect(world.clock.holds).toBe(1);
    const member = world.member('a');
    expect(world.clock.holds).toBe(1);
    const campaign = member.election(NAME).campaign();
    await world.pass(100);
    expect(world.clock.holds).toBe(2);
    await world.run(leader.resign());
    const leadership = await world.run(campaign);
    expect(world.clock.holds).toBe(1);
    await world.run(leadership.resign());
    expect(world.clock.holds).toBe(0);
  });
});

describe('an election', () => {
  it('refuses a store that is not linearizable, unless its name is given', async () => {
    const world = new World({ linearizable: false });
    expect(() => world.member('a').election(NAME)).toThrow(
      expect.objectContaining({
        code: 'WEAK_STORE',
        message: expect.stringContaining(`is not linearizable: its option linearizable is false. Two members may then lead "${NAME}"`),
      }),
    );
    expect(() => world.member('b').election(NAME, { acceptWeakStore: 'yes' })).toThrow(expect.objectContaining({ code: 'WEAK_STORE' }));
    const leadership = await world.run(world.member('c').election(NAME, { acceptWeakStore: 'memory' }).campaign());
    expect(leadership.isValid()).toBe(true);
  });

  it('accepts a weak store by name also where the store is linearizable', async () => {
    const world = new World();
    for (const [index, acceptWeakStore] of ['memory', 'redis', undefined].entries()) {
      const leadership = await world.run(world.member(`m${index}`).election(NAME, { acceptWeakStore }).campaign());
      expect(leadership.isValid()).toBe(true);
      await world.run(leadership.resign());
    }
  });

  it.each([
    ['an option that nobody reads', { sucession: 1 }, 'INVALID_OPTION'],
    ['a succession that is none', { succession: 'fifo' }, 'INVALID_OPTION'],
    ['an acceptance of any weak store', { acceptWeakStore: true }, 'INVALID_OPTION'],
    ['a value that JSON cannot hold', { value: 5n }, 'INVALID_OPTION'],
    ['a first term of 0', { minTerm: 0n }, 'INVALID_OPTION'],
    ['a first term that is a number', { minTerm: 5 }, 'INVALID_OPTION'],
    ['a first term that leaves no room for more', { minTerm: 2n ** 61n + 1n }, 'INVALID_OPTION'],
    ['a first term that is null', { minTerm: null }, 'INVALID_OPTION'],
    ['a codec together with parse', { codec: { encode: () => new Uint8Array(), decode: () => 1 }, parse: () => 1 }, 'INVALID_OPTION'],
  ])('is refused with %s', (_, options, code) => {
    const member = new World().member('a');
    expect(() => Reflect.apply(member.election, member, [NAME, options])).toThrow(expect.objectContaining({ code }));
  });

  it('is one object for one name, with the options of the first call', () => {
    const member = new World().member('a');
    const election = member.election(NAME, { value: 1 });
    expect(member.election(NAME)).toBe(election);
    expect(() => member.election(NAME, { value: 2 })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    expect(() => member.election('a/b')).toThrow(expect.objectContaining({ code: 'INVALID_NAME' }));
  });

  it('shows its candidates in the order of succession, the leader first, with what they would publish', async () => {
    const world = new World();
    const members = ['a', 'b', 'c'].map((id) => world.member(id));
    const first = await world.run(members[0]!.election(NAME, { value: { n: 'a' } }).campaign());
    track(members[1]!.election(NAME, { value: { n: 'b' } }).campaign());
    await world.pass(10);
    track(members[2]!.election(NAME).campaign());
    await world.pass(10);
    await world.run(first.handover('c'));
    await world.pass(10);
    const shown = await world.run(members[1]!.election(NAME).candidates());
    expect(shown.map(({ memberId, leads, value }) => [memberId, leads, value])).toEqual([
      ['c', true, undefined],
      ['b', false, { n: 'b' }],
    ]);
  });

  it('shows no leader where a late enqueue has brought the entry of an ended term back', async () => {
    const world = new World();
    const store = world.connect();
    const election = world.member('a').election(NAME);
    const leadership = await world.run(election.campaign());
    const [entry] = await world.run(store.list(CANDIDATES));
    await world.run(leadership.resign());
    const lease = await world.run(store.grantLease(TTL_MS, { at: { monotonicMs: world.clock.monotonic(), wallMs: world.clock.wall() } }));
    await world.run(store.enqueue(CANDIDATES, entry!.name, entry!.value, lease.id));
    expect(await world.run(election.candidates())).toMatchObject([{ memberId: 'a', leads: false }]);
  });
});

describe('terms of a store that may lose them', () => {
  it('begin at the order of the entry that claims, and go on from there', async () => {
    const world = new World({ termSource: 'clock' });
    const store = world.connect();
    // An order that is a time, as such a store has it.
    const timed = relay(store, {
      enqueue: async (...asked) => ({ ...(await store.enqueue(...asked)), order: BigInt(Math.round(world.clock.wall()) * 1_000) }),
    });
    const election = world.member('a', {}, timed).election(NAME);
    const first = await world.run(election.campaign());
    expect(first.term).toBeGreaterThan(1_000_000n);
    await world.run(first.resign());
    const second = await world.run(election.campaign());
    expect(second.term).toBe(first.term + 1n);
    await world.run(second.resign());
    world.server.deleteKey(TERM);
    await world.pass(1_000);
    expect((await world.run(election.campaign())).term).toBeGreaterThan(second.term);
  });

  it('begin at minTerm where that is more', async () => {
    const world = new World({ termSource: 'clock' });
    const election = world.member('a').election(NAME, { minTerm: 2n ** 60n });
    expect((await world.run(election.campaign())).term).toBe(2n ** 60n);
  });
});
