import { describe, expect, it } from 'vitest';
import { ElectionObserver, type Entry, type Store, StoreError } from '../../src/index.ts';
import { drain, inShort, leaderRecord, shown } from '../support/observed.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** A store whose watches yield this state after each other one. */
function alsoShowing(state: Entry | undefined, behind: Store): Store {
  return relay(behind, {
    async *watch(key, options) {
      for await (const entry of behind.watch(key, options)) yield* [entry, state];
    },
  });
}

/** What a new observer on this store shows within 100 ms, besides this leader. */
async function viewsBesides(leader: string, world: World, store: Store): Promise<readonly string[]> {
  const views = shown(world.observer({}, store));
  await world.pass(100);
  return views.filter((view) => view !== leader);
}

describe('an observer', () => {
  it('does nothing until a method or getter is used, and never keeps the process alive by itself', async () => {
    const world = new World();
    const observer = world.observer();
    await world.pass(1_000);
    expect(world.server.watches.opened).toBe(0);
    expect(observer.current).toEqual({ state: 'unknown', since: expect.any(Number) });
    await world.pass();
    expect([world.server.watches.open, world.clock.holds, observer.current]).toEqual([1, 0, { state: 'vacant', reason: 'neverLed' }]);
    await world.close();
    world.expectNothingLeft();
  });

  it('shows every leader, and why there is none', async () => {
    const world = new World();
    const views = shown(world.observer());
    await world.pass();
    const member = world.member('a');
    for (const leave of ['resign', 'expire'] as const) {
      const leadership = await world.run(member.election(NAME, undefined).campaign());
      await world.pass();
      if (leave === 'resign') await world.run(leadership.resign());
      else world.server.expireLease(world.leaseOf('a'));
      await world.pass(100);
    }
    expect(views).toEqual(['unknown', 'vacant  neverLed', 'a 1', 'vacant 1 resigned', 'a 2', 'vacant 2 expired']);
  });

  it('shows a new leader although an earlier read has no answer yet', async () => {
    const world = new World();
    let deaf = false;
    const store = world.connect({ latencyMs: ({ kind, operation }) => (deaf && kind === 'reply' && operation === 'read' ? Infinity : 0) });
    const views = shown(world.observer({}, store));
    const election = world.member('a').election(NAME);
    const first = await world.run(election.campaign());
    await world.pass();
    deaf = true;
    await world.run(first.resign());
    await world.pass(100);
    await world.run(election.campaign());
    await world.pass(1);
    expect(views).toEqual(['unknown', 'vacant  neverLed', 'a 1', 'a 2']);
    await world.close();
    world.expectNothingLeft();
  });

  it('shows why a term ended that began and ended during its reads', async () => {
    const world = new World();
    const behind = world.connect();
    const term = { v: 1, term: '3', memberId: 'm', incarnation: 'i', entry: 'e' };
    const store = relay(behind, {
      read: async (key, options) => {
        if (key === LEADER) world.put(TERM, { ...term, ended: { reason: 'resigned' } });
        return behind.read(key, options);
      },
    });
    world.put(LEADER, leaderRecord(2));
    const views = shown(world.observer({}, store));
    await world.pass();
    world.put(TERM, term);
    world.server.deleteKey(LEADER);
    await world.pass(100);
    expect(views).toEqual(['unknown', 'm 2', 'vacant 3 resigned']);
  });

  it('does not count an earlier state as the end of a term', async () => {
    const world = new World();
    const store = alsoShowing(undefined, world.connect());
    world.put(TERM, { v: 1, term: '2', memberId: 'm', incarnation: 'i', entry: 'e' });
    world.put(LEADER, leaderRecord(2));
    expect(await viewsBesides('m 2', world, store)).toEqual(['unknown']);
  });

  it('shows what the leader publishes, parsed', async () => {
    const world = new World();
    const observer = new ElectionObserver(world.connect(), NAME, {
      clock: world.clock,
      parse: (value) => `parsed ${JSON.stringify(value)}`,
    });
    const leadership = await world.run(
      world
        .member('a')
        .election(NAME, { value: { n: 1 } })
        .campaign(),
    );
    await world.run(observer.ready);
    expect(observer.current).toMatchObject({ state: 'leader', value: 'parsed {"n":1}' });
    await world.run(leadership.publish({ n: 2 }));
    await world.pass();
    expect(observer.current).toMatchObject({ value: 'parsed {"n":2}' });
    expect(await world.run(observer.leader())).toMatchObject({ memberId: 'a', value: 'parsed {"n":2}' });
    await world.run(observer.close());
  });

  it('shows the handover of leadership, in one step or two', async () => {
    for (const assignableLease of [true, false]) {
      const world = new World({ assignableLease });
      const leadership = await world.elect(world.member('a'));
      track(world.member('b').election(NAME).campaign());
      await world.pass(20);
      const views = shown(world.observer());
      await world.pass();
      await world.run(leadership.handover('b'));
      await world.pass(20);
      expect(views).toEqual(assignableLease ? ['unknown', 'a 1', 'b 2'] : ['unknown', 'a 1', 'vacant 1 handover', 'b 2']);
    }
  });
});

describe('an older term', () => {
  it('is not shown after a newer one while the store still has that', async () => {
    const world = new World();
    const stale = {
      key: LEADER,
      name: 'leader',
      value: new TextEncoder().encode(JSON.stringify(leaderRecord(1))),
      revision: '1',
      order: 1n,
    };
    world.put(LEADER, leaderRecord(5));
    expect(await viewsBesides('m 5', world, alsoShowing(stale, world.connect()))).toEqual(['unknown']);
  });

  it('is shown as termReset when a read confirms that the store has gone back', async () => {
    const world = new World();
    world.put(LEADER, leaderRecord(5));
    const views = shown(world.observer());
    await world.pass();
    world.put(LEADER, leaderRecord(2));
    await world.pass();
    world.put(LEADER, leaderRecord(3));
    await world.pass();
    expect(views).toEqual(['unknown', 'm 5', 'm 2 termReset', 'm 3']);
  });

  it('without a leader is a vacancy for that reason', async () => {
    const world = new World();
    world.put(LEADER, leaderRecord(5));
    world.put(TERM, { v: 1, term: '3', memberId: 'm', incarnation: 'i', entry: 'e' });
    const views = shown(world.observer());
    await world.pass();
    world.server.deleteKey(LEADER);
    await world.pass();
    expect(views).toEqual(['unknown', 'm 5', 'vacant 3 termReset']);
  });
});

describe('a store that cannot be reached', () => {
  it('shows no leader meanwhile, although a state came in the turn in which the connection was lost', async () => {
    const world = new World();
    const store = world.connect();
    world.put(LEADER, leaderRecord(2));
    const observer = world.observer({}, store);
    observer.subscribe(() => {});
    await world.pass();
    store.link.stall();
    world.put(LEADER, leaderRecord(3));
    await world.pass();
    store.link.heal();
    store.link.cutOff();
    await world.pass(60_000);
    expect(observer.current.state).toBe('unknown');
    store.link.heal();
    await world.pass(1_000);
    expect(observer.current).toMatchObject({ state: 'leader', term: 3n });
    await observer.close();
  });

  it('makes the view unknown, with what was known before, and known again when it is back', async () => {
    const world = new World();
    const store = world.connect();
    world.put(LEADER, leaderRecord(1));
    const observer = world.observer({}, store);
    const views = shown(observer);
    await world.pass();
    const since = world.clock.wall();
    store.link.cutOff();
    await world.pass(5_000);
    expect(observer.current).toMatchObject({
      state: 'unknown',
      since,
      last: { state: 'leader', term: 1n },
      cause: { code: 'CONNECTION_LOST' },
    });
    world.put(LEADER, leaderRecord(2));
    store.link.heal();
    await world.pass(1_000);
    expect(views).toEqual(['unknown', 'm 1', 'unknown', 'm 2']);
  });

  it('does not reject ready: that is waited for', async () => {
    const world = new World();
    const store = world.connect();
    store.link.dropRequests(3, { operations: ['read'], how: 'reset' });
    const ready = track(world.observer({}, store).ready);
    await world.pass(60_000);
    expect(ready.state).toBe('resolved');
  });

  it('is read again at growing intervals, not in a hurry', async () => {
    const world = new World();
    let calls = 0;
    const store = relay(world.connect(), {
      watch: () => {
        calls += 1;
        throw new StoreError('PERMISSION_DENIED', 'refused', 'no');
      },
    });
    world.observer({}, store).subscribe(() => {});
    await world.pass(600_000);
    expect(calls).toBeGreaterThan(10);
    expect(calls).toBeLessThan(60);
  });
});

describe('an error that a retry does not solve', () => {
  it('rejects ready, shows why nothing is known, and is tried again nevertheless', async () => {
    const world = new World();
    world.put(LEADER, 'hello');
    const observer = world.observer();
    await expect(world.run(observer.ready)).rejects.toMatchObject({ code: 'FOREIGN_DATA', details: { key: LEADER } });
    expect(observer.current).toMatchObject({ state: 'unknown', cause: { code: 'FOREIGN_DATA' } });
    world.put(LEADER, leaderRecord(1));
    await world.pass(60_000);
    expect(observer.current).toMatchObject({ state: 'leader', term: 1n });
  });

  it.each([{ v: 2 }, { v: 1, term: 'x' }])('rejects a read in the same way: %j', async (record) => {
    const world = new World();
    world.put(LEADER, record);
    await expect(world.run(world.observer().leader())).rejects.toMatchObject({ code: expect.stringMatching(/NEWER_FORMAT|FOREIGN_DATA/) });
  });

  it('a store that was closed ends views with its error, and rejects ready', async () => {
    const world = new World();
    const store = world.connect();
    const observer = world.observer({}, store);
    const next = track(
      observer
        .views()
        .next()
        .then(() => observer.views().next()),
    );
    await world.pass();
    expect(next.state).toBe('resolved');
    await store.close();
    await world.pass();
    await expect(drain(observer)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    const late = world.observer({}, store);
    await expect(world.run(late.ready)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});

describe('views', () => {
  it('keep the process alive while they are read, and end quietly with their signal', async () => {
    const world = new World();
    const observer = world.observer();
    const caller = new AbortController();
    const views: string[] = [];
    const reading = track(
      (async (): Promise<void> => {
        for await (const view of observer.views({ signal: caller.signal })) views.push(inShort(view));
      })(),
    );
    await world.pass(10);
    world.put(LEADER, leaderRecord(1));
    await world.pass(10);
    expect(world.clock.holds).toBe(1);
    caller.abort();
    await world.pass();
    expect([reading.state, world.clock.holds, views]).toEqual(['resolved', 0, ['unknown', 'vacant  neverLed', 'm 1']]);
  });

  it('let go when the reader leaves', async () => {
    const world = new World();
    for await (const view of world.observer().views()) {
      expect(view.state).toBe('unknown');
      break;
    }
    expect(world.clock.holds).toBe(0);
  });

  it('end at once when the reader leaves while it waits for a change', async () => {
    const world = new World();
    const views = world.observer().views();
    await world.run(views.next());
    await world.run(views.next());
    const waiting = track(views.next());
    await world.pass(10);
    const left = track(views.return());
    await world.pass();
    expect([waiting.value, left.state, world.clock.holds]).toEqual([{ done: true, value: undefined }, 'resolved', 0]);
  });

  it('skip what a slow reader has missed, and never the latest', async () => {
    const world = new World();
    const observer = world.observer();
    const views = observer.views();
    await world.run(views.next());
    for (let term = 1; term <= 50; term += 1) {
      world.put(LEADER, leaderRecord(term));
      await world.pass();
    }
    expect(inShort((await world.run(views.next())).value!)).toBe('m 50');
    await views.return();
  });
});

describe('a subscriber that throws', () => {
  it('harms neither the others nor itself', async () => {
    const world = new World();
    const observer = world.observer();
    observer.subscribe(() => {
      throw new Error('the subscriber failed');
    });
    const views = shown(observer);
    await world.pass(TTL_MS);
    expect(views).toEqual(['unknown', 'vacant  neverLed']);
    expect(world.events.about('a subscriber threw').length).toBe(2);
  });
});

it.each([
  ['a name that is none', 'a/b', {}],
  ['an option that nobody reads', NAME, { interval: 5 }],
  ['a time that is none', NAME, { callTimeoutMs: 0 }],
])('an observer refuses %s', (_, name, options) => {
  const store = new World().connect();
  expect(() => Reflect.construct(ElectionObserver, [store, name, options])).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/INVALID/) }),
  );
});
