import { describe, expect, it } from 'vitest';
import { ElectionAdmin, listElections, Member, StoreError } from '../../src/index.ts';
import { longestDrainMs } from '../../src/lease/timing.ts';
import { after, behind, DRAIN_MS, led } from '../support/led.ts';
import { relay, timeout } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

function operator(world: World): ElectionAdmin {
  return new ElectionAdmin(world.connect(), NAME);
}

/** Delays each state of a watch, in ms. */
async function* late<T>(world: World, states: AsyncIterable<T>, ms: number): AsyncGenerator<T, void, undefined> {
  for await (const state of states) {
    await after(world, ms);
    yield state;
  }
}

describe.each([
  ['in one swap', {}],
  ['in two steps', { assignableLease: false, revisionsSurviveDeletion: false }],
] as const)('an operator, where a handover is %s,', (_, options) => {
  it('makes the leader step down: nobody is elected before its work has stopped, and it joins again at the end', async () => {
    const world = new World(options);
    const ended: unknown[] = [];
    track(
      world
        .member('a')
        .election(NAME)
        .lead(async (leadership) => {
          ended.push(await leadership.ended);
          await after(world, 700);
        }),
    );
    await world.pass(20);
    const next = await behind(world, 'b');
    expect(await world.run(operator(world).stepDown(1n))).toBe(true);
    await world.pass(100);
    expect(ended).toMatchObject([{ reason: 'steppedDown', lost: false, drainMs: DRAIN_MS }]);
    expect(next.state).toBe('pending');
    expect(await world.run(operator(world).state())).toMatchObject({
      stopping: true,
      term: 1n,
      candidates: [{ memberId: 'a' }, { memberId: 'b' }],
    });
    await world.pass(650);
    expect(next.value?.term).toBe(2n);
    await world.pass(TTL_MS);
    expect(world.queue()).toEqual(['b', 'a']);
  });

  it('makes a leader step down that has no work of its own to report: it gets the whole drain', async () => {
    const { world, leadership } = await led(options);
    const next = await behind(world, 'b');
    await world.run(operator(world).stepDown(1n));
    await world.pass(DRAIN_MS - 100);
    expect([leadership.isValid(), next.state]).toEqual([false, 'pending']);
    await world.pass(200);
    expect([next.value?.term, world.events.about('leadership ended')]).toMatchObject([
      2n,
      [{ reason: 'steppedDown', why: 'because an operator made it step down' }],
    ]);
  });

  it('makes the leader step down by one swap, and the leader releases its keys by one swap', async () => {
    const { world } = await led(options);
    const { compareAndSwap } = world.server.requests;
    expect(await world.run(operator(world).stepDown(1n))).toBe(true);
    expect(world.server.requests.compareAndSwap - compareAndSwap).toBe(1);
    await world.pass(2 * DRAIN_MS);
    expect(world.queue()).toEqual([]);
    expect(world.server.requests.compareAndSwap - compareAndSwap).toBe(2);
  });

  it('makes the leader step down, and everybody names that reason, also if the leader sees its entry change late', async () => {
    const world = new World(options);
    const behindStore = world.connect();
    const store = relay(behindStore, {
      watch: (key, call) => (key.startsWith(CANDIDATES) ? late(world, behindStore.watch(key, call), 300) : behindStore.watch(key, call)),
    });
    const leadership = await world.elect(world.member('a', {}, store));
    await world.pass(1_000);
    const next = await behind(world, 'b');
    const observer = world.observer();
    await world.run(observer.ready);
    await world.run(operator(world).stepDown(1n));
    expect(await world.run(leadership.ended)).toMatchObject({ reason: 'steppedDown', lost: false });
    await world.pass(2 * DRAIN_MS);
    expect(next.value?.term).toBe(2n);
    expect(observer.current).toMatchObject({ state: 'leader', previous: { memberId: 'a', reason: 'steppedDown' } });
  });

  it('asks the leader to hand over, past those before the successor: the work has stopped before the successor leads', async () => {
    const { world, leadership } = await led(options);
    const [b, c] = [await behind(world, 'b'), await behind(world, 'c')];
    leadership.waitUntil(after(world, 700));
    expect(await world.run(operator(world).requestHandover(1n, 'c'))).toBe(true);
    await world.pass(100);
    expect([leadership.isValid(), c.state]).toEqual([false, 'pending']);
    await world.pass(650);
    expect([b.state, c.value?.term, c.value?.isValid()]).toEqual(['pending', 2n, true]);
    expect(await leadership.ended).toMatchObject({ reason: 'handover', lost: false });
  });

  it('waits for the whole drain if no work was passed in', async () => {
    const { world, leadership } = await led(options);
    const next = await behind(world, 'b');
    await world.run(operator(world).requestHandover(1n, 'b'));
    await world.pass(DRAIN_MS - 10);
    expect([leadership.isValid(), next.state]).toEqual([false, 'pending']);
    await world.pass(100);
    expect(next.value?.term).toBe(2n);
  });

  it('fails if there is no such candidate, and requests nothing', async () => {
    const { world, leadership } = await led(options);
    await behind(world, 'b');
    const before = world.json(LEADER);
    for (const name of ['x', 'a']) {
      await expect(world.run(operator(world).requestHandover(1n, name))).rejects.toMatchObject({
        code: 'NO_SUCH_CANDIDATE',
        details: { memberId: name, candidates: ['b'] },
        message: `"${name}" is no candidate of "${NAME}" that could be handed to: the other candidate is "b"`,
      });
    }
    expect([leadership.isValid(), world.json(LEADER)]).toEqual([true, before]);
  });

  it('does nothing to another term than the one that is meant', async () => {
    const { world, leadership } = await led(options);
    const next = await behind(world, 'b');
    const acts = [2n, 7n].flatMap((term) => [operator(world).stepDown(term), operator(world).requestHandover(term, 'b')]);
    expect(await world.run(Promise.all(acts))).toEqual([false, false, false, false]);
    expect(leadership.isValid()).toBe(true);
    await world.run(leadership.resign());
    await world.pass(20);
    expect(await world.run(operator(world).stepDown(1n))).toBe(false);
    expect(next.value?.isValid()).toBe(true);
  });

  it('asks the leader to hand over, which tries again if a read of the queue fails', async () => {
    const { world, store, leadership } = await led(options);
    const [b, c] = [await behind(world, 'b'), await behind(world, 'c')];
    store.link.dropReplies(2, { operations: ['list'] });
    await world.run(operator(world).requestHandover(1n, 'c'));
    await world.pass(2 * TTL_MS);
    expect([b.state, c.value?.term, (await leadership.ended).reason]).toEqual(['pending', 2n, 'handover']);
  });

  it('does not ask again if the request was taken back while the reads of the queue failed', async () => {
    const { world, store, leadership } = await led(options);
    await behind(world, 'b');
    await behind(world, 'c');
    store.link.dropReplies(1, { operations: ['list'] });
    await world.run(operator(world).requestHandover(1n, 'c'));
    await world.run(operator(world).withdrawHandover(1n));
    await world.pass(2 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
  });

  it('asks once: a leader that could not hand over does not do so at a later reconnection', async () => {
    const { world, store, leadership } = await led(options);
    const aborter = new AbortController();
    const election = world.member('b').election(NAME);
    track(election.campaign({ signal: aborter.signal }));
    await world.pass(20);
    store.link.stall();
    await world.run(operator(world).requestHandover(1n, 'b'));
    aborter.abort();
    await world.pass(100);
    store.link.heal();
    await world.pass(TTL_MS);
    track(election.campaign());
    await world.pass(TTL_MS);
    store.link.reset();
    await world.pass(2 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
  });

  it('asks in vain where the successor went meanwhile: leadership goes on, and the request can be taken back', async () => {
    const world = new World(options);
    const leaderStore = world.connect();
    const leadership = await world.elect(world.member('a', {}, leaderStore));
    const aborter = new AbortController();
    track(world.member('b').election(NAME).campaign({ signal: aborter.signal }));
    await world.pass(20);
    leaderStore.link.cutOff();
    await world.run(operator(world).requestHandover(1n, 'b'));
    aborter.abort();
    await world.pass(100);
    leaderStore.link.heal();
    await world.pass(TTL_MS / 2);
    expect(leadership.isValid()).toBe(true);
    expect(await world.run(operator(world).withdrawHandover(1n))).toBe(true);
    await behind(world, 'b');
    await world.pass(TTL_MS);
    expect(leadership.isValid()).toBe(true);
  });

  it('of a lost answer makes no second request', async () => {
    const { world } = await led(options);
    const next = await behind(world, 'b');
    const store = world.connect();
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    expect(await world.run(new ElectionAdmin(store, NAME).stepDown(1n))).toBe(true);
    await world.pass(2 * DRAIN_MS);
    expect([next.value?.term, next.value?.isValid()]).toEqual([2n, true]);
  });
});

it.each<unknown>([1, '1', undefined])(
  'an operator that names the term as %o gets an error: it is not a term that is over',
  async (term) => {
    const admin = operator(new World());
    const calls = [admin.stepDown(term as bigint), admin.requestHandover(term as bigint, 'b'), admin.withdrawHandover(term as bigint)];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTION', details: { option: 'term' } });
  },
);

it('a request is tried again if a read fails, and counts as written after a swap whose answer was lost', async () => {
  const { world } = await led();
  const link = world.connect();
  const answers: string[] = [];
  const store = relay(link, {
    compareAndSwap: async (...call) => {
      const result = await link.compareAndSwap(...call);
      if (answers.length > 0) return result;
      answers.push('lost');
      throw timeout();
    },
    read: async (...call) => {
      if (answers.length !== 1) return link.read(...call);
      answers.push('none');
      throw new StoreError('UNREACHABLE', 'notSent', 'no server answers');
    },
  });
  expect(await world.run(new ElectionAdmin(store, NAME).stepDown(1n))).toBe(true);
  expect(answers).toEqual(['lost', 'none']);
});

it('a request whose answer was lost has an unknown outcome, whatever error ends the tries', async () => {
  const { world } = await led();
  const link = world.connect();
  let isLost = false;
  const store = relay(link, {
    compareAndSwap: async (...call) => {
      await link.compareAndSwap(...call);
      isLost = true;
      throw timeout();
    },
    read: async (...call) => {
      if (isLost) throw new StoreError('UNREACHABLE', 'notSent', 'no server answers');
      return link.read(...call);
    },
  });
  await expect(world.run(new ElectionAdmin(store, NAME).stepDown(1n))).rejects.toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
});

describe('a request to a leader that does not know yet that a handover has elected it', () => {
  it.each([
    ['makes it step down', 'steppedDown', (admin: ElectionAdmin) => admin.stepDown(2n)],
    ['makes it hand over', 'handover', (admin: ElectionAdmin) => admin.requestHandover(2n, 'c')],
  ] as const)('%s', async (_, reason, request) => {
    const { world, leadership } = await led();
    const store = world.connect();
    const second = track(world.member('b', {}, store).election(NAME).campaign());
    await world.pass(20);
    const third = await behind(world, 'c');
    store.link.cutOff();
    await world.run(leadership.handover('b'));
    expect(await world.run(request(operator(world)))).toBe(true);
    store.link.heal();
    await world.pass(2 * TTL_MS);
    expect([second.value?.isValid(), third.value?.term]).toEqual([false, 3n]);
    expect(await second.value?.ended).toMatchObject({ reason, lost: false });
  });
});

describe('what an operator sees', () => {
  it('is everything of an election, before anybody has led, while somebody does, and after', async () => {
    const world = new World();
    expect(await world.run(operator(world).state())).toEqual({ name: NAME, candidates: [], stopping: false });
    const leadership = await world.run(
      world
        .member('a')
        .election(NAME, { value: { host: 'a' } })
        .campaign(),
    );
    await behind(world, 'b', { host: 'b' });
    expect(await world.run(operator(world).state())).toMatchObject({
      term: 1n,
      leader: { term: 1n, memberId: 'a', value: { host: 'a' } },
      succession: 'fifo',
      candidates: [
        { memberId: 'a', leads: true },
        { memberId: 'b', leads: false, value: { host: 'b' } },
      ],
    });
    await world.close();
    await world.run(leadership.released);
    expect(await world.run(operator(world).state())).toEqual({
      name: NAME,
      candidates: [],
      stopping: false,
      term: 1n,
      ended: 'memberClosed',
    });
    expect(world.json(TERM)).toMatchObject({ term: '1' });
  });

  it.each([
    [null, 'call options is null: it must be an object'],
    [AbortSignal.abort(), 'options is an object: it must be an object with the signal in it'],
    [{ timeoutMs: 5 }, 'there is no call option "timeoutMs"'],
    [{ signal: 5 }, 'signal is 5: it must be an AbortSignal'],
    [{ callTimeoutMs: 9 }, 'callTimeoutMs is 9: it must be a number from 10 to 60000'],
  ])('is refused with the options %o', async (options, message) => {
    await expect(Reflect.apply(listElections, undefined, [new World().connect(), options])).rejects.toThrow(message);
  });

  it('is every election of the namespace, once', async () => {
    const world = new World();
    for (const name of ['b', 'a', 'c']) await world.run(world.member(`m-${name}`).election(name).campaign());
    await world.run(world.member('late').group('a-group').join());
    expect(await world.run(listElections(world.connect()))).toEqual(['a', 'b', 'c']);
  });
});

describe('the longest drain', () => {
  it.each([1_000, 10_000, 15_000])('for a ttl of %i ms is the longest that a member takes', (ttlMs) => {
    const store = new World().connect();
    const drainMs = longestDrainMs({ ttlMs }, store);
    expect(drainMs).toBeGreaterThan(ttlMs / 5);
    expect(new Member(store, { ttlMs, drainMs }).timing.drainMs).toBe(drainMs);
    expect(() => new Member(store, { ttlMs, drainMs: drainMs + 1 })).toThrow(/tried again before the deadline|at most half/);
  });
});
