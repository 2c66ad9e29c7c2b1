import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Fence, StoreError, type Election, type Leadership, type StoreErrorCode } from '../src/index.ts';
import { relay } from './support/relay.ts';
import { track, type Tracked } from './support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World } from './support/world.ts';

/** A world in which another member leads, and stays alive. */
async function led(): Promise<{ readonly world: World; readonly leader: Leadership }> {
  const world = new World();
  const leader = await world.run(world.member('leader').election(NAME).campaign());
  return { world, leader };
}

/** Work that runs until it is told to stop, and remembers the terms that it ran in. */
function patient(terms: bigint[] = []): (leadership: Leadership) => Promise<void> {
  return async ({ term, ended }) => {
    terms.push(term);
    await ended;
  };
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
      for (const verb of ['grantLease', 'compareAndSwap', 'enqueue', 'list', 'read'] as const) {
        const store = relay(world.connect(), { [verb]: () => Promise.reject(denied) });
        await expect(world.run(world.member(`a-${verb}`, {}, store).election(`e-${verb}`).campaign())).rejects.toBe(denied);
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
    await expect(world.run(world.member('a').election(NAME).campaign())).rejects.toMatchObject({ code });
    await world.pass(1_000);
    expect(world.queue()).toEqual([]);
    world.server.deleteKey(key);
    await world.close();
    world.expectNothingLeft();
  });

  it('rejects with SUCCESSION_MISMATCH, and leaves no entry, in a queue that follows another order', async () => {
    const { world } = await led();
    world.server.put(`${CANDIDATES}/x~i~1~priority~5`, new TextEncoder().encode('{"v":1}'));
    await expect(world.run(world.member('a').election(NAME).campaign())).rejects.toMatchObject({ code: 'SUCCESSION_MISMATCH' });
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
    expect(() => world.member('a').election(NAME)).toThrow(expect.objectContaining({ code: 'WEAK_STORE' }));
    expect(() => world.member('b').election(NAME, { acceptWeakStore: 'yes' })).toThrow(expect.objectContaining({ code: 'WEAK_STORE' }));
    const leadership = await world.run(world.member('c').election(NAME, { acceptWeakStore: 'memory' }).campaign());
    expect(leadership.isValid()).toBe(true);
  });

  it.each([
    ['an option that nobody reads', { sucession: 1 }, 'INVALID_OPTION'],
    ['a succession that is none', { succession: 'fifo' }, 'INVALID_OPTION'],
    ['a value that JSON cannot hold', { value: 5n }, 'INVALID_OPTION'],
    ['a first term of 0', { firstTerm: 0n }, 'INVALID_OPTION'],
    ['a first term that is a number', { firstTerm: 5 }, 'INVALID_OPTION'],
    ['a first term beyond 64 bits', { firstTerm: 2n ** 63n }, 'INVALID_OPTION'],
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
});

describe('lead', () => {
  it('takes leadership up again after a loss, with a new term, and tells the work in between', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const reasons: unknown[] = [];
    const leading = track(
      world
        .member('a')
        .election(NAME)
        .lead(async ({ term, signal, ended }) => {
          terms.push(term);
          await ended;
          reasons.push(signal.reason);
        }),
    );
    await world.pass(100);
    world.server.expireLease(world.leaseOf('a'));
    await world.pass(TTL_MS);
    expect([leading.state, terms]).toEqual(['pending', [1n, 2n]]);
    expect(reasons).toMatchObject([{ code: 'LEADERSHIP_ENDED', details: { lost: true, term: 1n } }]);
  });

  it('campaigns again after a handover', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const election = world.member('a').election(NAME);
    track(election.lead(patient(terms)));
    await world.pass(100);
    const other = world.member('b').election(NAME).campaign();
    await world.pass(100);
    await world.run(election.leadership!.handover('b'));
    const heir = await world.run(other);
    await world.pass(100);
    await world.run(heir.resign());
    await world.pass(100);
    expect(terms).toEqual([1n, 3n]);
  });

  it('resolves with what the work returns, after it has resigned', async () => {
    const world = new World();
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => 'done');
    expect(await world.run(leading)).toBe('done');
    expect(world.server.keys()).toEqual(['members/a', TERM]);
    expect(world.json(TERM)).toMatchObject({ term: '1', ended: { reason: 'resigned' } });
  });

  it('resolves with undefined where the work returns nothing, and does not lead on', async () => {
    const world = new World();
    let runs = 0;
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => {
        runs += 1;
      });
    expect(await world.run(leading)).toBeUndefined();
    await world.pass(1_000);
    expect(runs).toBe(1);
  });

  it('resolves with what the work returns after it has resigned by itself', async () => {
    const world = new World();
    const leading = world
      .member('a')
      .election(NAME)
      .lead(async (leadership) => {
        await leadership.resign();
        return 'resigned';
      });
    expect(await world.timed(leading)).toBeLessThan(10);
    expect(await leading).toBe('resigned');
  });

  it.each(['throws', 'rejects'])('rejects with what the work %s, after it has resigned', async (how) => {
    const world = new World();
    const failure = new Error('the work failed');
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => {
        if (how === 'rejects') return Promise.reject(failure);
        throw failure;
      });
    await expect(world.run(leading)).rejects.toBe(failure);
    expect(world.json(LEADER)).toBeUndefined();
  });

  it('tells of work that fails after its leadership was lost, and goes on', async () => {
    const world = new World();
    let runs = 0;
    const leading = track(
      world
        .member('a')
        .election(NAME)
        .lead(async ({ ended }) => {
          runs += 1;
          await ended;
          throw new Error('could not stop cleanly');
        }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect([leading.state, runs]).toEqual(['pending', 2]);
    expect(world.events.about('the work failed')).toMatchObject([{ error: { message: 'could not stop cleanly' }, term: 1n }]);
  });

  it('takes the reason of its own signal, thrown by the work, for no failure', async () => {
    const world = new World();
    track(
      world
        .member('a')
        .election(NAME)
        .lead(async ({ signal, ended }) => {
          await ended;
          signal.throwIfAborted();
        }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(world.events.about('the work failed')).toEqual([]);
  });

  it('whose work meets a fence that has seen a newer term leads again, beyond that term', async () => {
    const world = new World();
    const terms: bigint[] = [];
    track(
      world
        .member('a')
        .election(NAME)
        .lead(async ({ term, ended }) => {
          terms.push(term);
          new Fence({ highest: 7n }).admit(term);
          await ended;
        }),
    );
    await world.pass(TTL_MS);
    expect(terms).toEqual([1n, 8n]);
  });

  it('whose fence has seen a term beyond all terms resigns, and rejects with that', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    const leading = election.lead(({ term }) => new Fence({ highest: 2n ** 63n }).admit(term));
    await expect(world.run(leading)).rejects.toMatchObject({ code: 'STALE_TERM' });
    expect([election.leadership, world.json(LEADER)]).toEqual([undefined, undefined]);
  });

  it('aborted, tells the work, waits for its drain, resigns, and rejects with the reason', async () => {
    const world = new World();
    const caller = new AbortController();
    let stoppedAt = 0;
    const leading = track(
      world
        .member('a')
        .election(NAME)
        .lead(
          async ({ ended }) => {
            await ended;
            await new Promise<void>((resolve) => {
              world.clock.schedule(300, resolve);
            });
            expect(world.json(LEADER)).toMatchObject({ term: '1' });
            stoppedAt = world.clock.monotonic();
          },
          { signal: caller.signal },
        ),
    );
    await world.pass(100);
    caller.abort(new Error('enough'));
    await world.pass(299);
    expect([leading.state, stoppedAt]).toEqual(['pending', 0]);
    await world.pass(10);
    expect(leading.error).toMatchObject({ message: 'enough' });
    expect(world.json(TERM)).toMatchObject({ ended: { reason: 'resigned' } });
  });

  it('aborted while stuck work keeps it from campaigning again, rejects with the reason', async () => {
    const world = new World();
    const caller = new AbortController();
    const leading = track(
      world
        .member('a')
        .election(NAME)
        .lead(() => new Promise(() => {}), { signal: caller.signal }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(world.events.about('did not stop').length).toBe(1);
    expect([leading.state, world.queue()]).toEqual(['pending', []]);
    caller.abort(new Error('enough'));
    await world.pass(100);
    expect(leading.error).toMatchObject({ message: 'enough' });
  });

  it('whose member closes while stuck work keeps it from campaigning again, rejects with MEMBER_CLOSED', async () => {
    const world = new World();
    const member = world.member('a');
    const leading = track(member.election(NAME).lead(() => new Promise(() => {})));
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    await world.run(member.close());
    await world.pass(100);
    expect(leading.error).toMatchObject({ code: 'MEMBER_CLOSED' });
    world.expectNothingLeft();
  });

  it.each([undefined, 5, {}])('refuses work that is no function: %s', async (work) => {
    const election = new World().member('a').election(NAME);
    await expect(Reflect.apply(election.lead, election, [work])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(Reflect.apply(election.campaign, election, [{ signal: 5 }])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});

describe('a campaign that is aborted at any moment', () => {
  /** What may be the matter meanwhile. */
  const scenes: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
    'of a lone candidate': async () => {},
    'behind a leader': async (world) => world.run(world.member('leader').election(NAME).campaign()),
    'behind a leader that has gone': async (world) =>
      world.run(
        world
          .member('leader')
          .election(NAME)
          .lead(() => {}),
      ),
  };
  const faults = ['nothing lost', 'compareAndSwap', 'enqueue', 'grantLease'] as const;

  for (const [scene, prepare] of Object.entries(scenes)) {
    it.each(faults)(`${scene} leaves nothing, with the answer lost of: %s`, async (lost) => {
      for (let atMs = 0; atMs <= 16; atMs += 1) {
        const world = new World();
        await prepare(world);
        const keys = world.server.keys();
        const { holds } = world.clock;
        const held = world.server.watches.open;
        const store = world.connect({ latencyMs: 1 });
        if (lost !== 'nothing lost') store.link.dropReplies(1, { verbs: [lost], how: 'reset' });
        const caller = new AbortController();
        const campaign = track(world.member('a', {}, store).election(NAME).campaign({ signal: caller.signal }));
        await world.pass(atMs);
        const settled = campaign.state;
        caller.abort(new Error('enough'));
        await world.pass();
        expect(campaign.state, `aborted after ${atMs} ms`).toBe(settled === 'resolved' ? 'resolved' : 'rejected');
        if (campaign.state === 'resolved') continue;
        expect(campaign.error).toMatchObject({ message: 'enough' });
        await world.pass(2 * TTL_MS);
        const left = world.server.keys().filter((key) => !keys.includes(key) && key !== 'members/a' && key !== TERM);
        expect(left, `aborted after ${atMs} ms`).toEqual([]);
        // A session that is kept watches over its member's key.
        const watches = held + Number(world.server.keys().includes('members/a'));
        expect([world.clock.holds, world.server.watches.open], `aborted after ${atMs} ms`).toEqual([holds, watches]);
        await world.close();
        world.expectNothingLeft();
      }
    });
  }

  it('even in the very moment in which it is elected, leaves no leadership behind that nobody knows of', async () => {
    for (let hops = 0; hops < 40; hops += 1) {
      const world = new World();
      const caller = new AbortController();
      const store = relay(world.connect(), {});
      const swap = store.compareAndSwap;
      const watched = relay(store, {
        compareAndSwap: async (changes, options) => {
          const result = await swap(changes, options);
          if (changes[0]?.key === LEADER) hop(hops, () => caller.abort(new Error('enough')));
          return result;
        },
      });
      const campaign = track(world.member('a', {}, watched).election(NAME).campaign({ signal: caller.signal }));
      await world.pass(TTL_MS);
      expect(campaign.state, `aborted ${hops} steps after the claim`).not.toBe('pending');
      expect(world.json(LEADER) !== undefined, `aborted ${hops} steps after the claim`).toBe(campaign.state === 'resolved');
    }
  });

  it('leaves no listener on the signal but one, however often it is used', async () => {
    const { world } = await led();
    const caller = new AbortController();
    const member = world.member('a');
    const elections = Array.from({ length: 50 }, (_, i) => member.election(`e${i}`));
    for (const election of elections) await once(world, election, caller.signal);
    expect(getEventListeners(caller.signal, 'abort').length).toBeLessThanOrEqual(1);
  });
});

async function once(world: World, election: Election, signal: AbortSignal): Promise<void> {
  const done: Tracked<unknown> = track(election.lead(() => 'done', { signal }));
  await world.until(() => done.state !== 'pending', 'led');
  expect(done.value).toBe('done');
}

/** Runs the task after so many turns of the promises. */
function hop(times: number, task: () => void): void {
  if (times === 0) task();
  else queueMicrotask(() => hop(times - 1, task));
}
