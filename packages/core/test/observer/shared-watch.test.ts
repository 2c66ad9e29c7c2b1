/** Observers of one election on one store share a watch. Each behaves as if it were alone. */

import { describe, expect, it } from 'vitest';
import { type Clock, StoreError, systemClock, type ElectionObserver, type ElectionView, type Entry, type Store } from '../../src/index.ts';
import { sleep } from '../../src/async/sleep.ts';
import { failing, relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TERM, World } from '../support/world.ts';

function leaderRecord(term: number, value?: unknown): object {
  return { v: 1, term: String(term), memberId: 'm', incarnation: 'i', entry: `e${term}`, value };
}

function leader(world: World): Entry | undefined {
  return world.server.entries().find(({ key }) => key === LEADER);
}

function inShort(view: ElectionView): string {
  return view.state === 'unknown' ? 'unknown' : `${view.state} ${view.term}`;
}

function shown(observer: ElectionObserver): string[] {
  const views: string[] = [];
  observer.subscribe((view) => views.push(inShort(view)));
  return views;
}

/** A store whose watches yield what the test says, when it says so. */
class Puppet {
  readonly watches: ((entry: Entry | undefined) => void)[] = [];
  readonly store: Store;
  stale: (cause: StoreError) => void = () => {};
  open = 0;
  reads = 0;
  failing = false;
  /** How much longer the answer to the nth read takes, in ms. */
  late: (nth: number) => number = () => 0;
  refusing: StoreError | undefined;

  constructor(behind: Store, clock: Clock = systemClock) {
    this.store = relay(behind, {
      read: async (...args) => {
        const nth = (this.reads += 1);
        if (this.failing) throw new StoreError('TIMEOUT', 'unknown', 'late');
        const answer = await behind.read(...args);
        const lateMs = this.late(nth);
        if (lateMs > 0) await sleep(clock, lateMs);
        return answer;
      },
      watch: (_, { signal = new AbortController().signal, onStale } = {}) => {
        if (this.refusing !== undefined) return failing(this.refusing);
        this.stale = (cause) => onStale?.(cause);
        return this.#states(signal);
      },
    });
  }

  async *#states(signal: AbortSignal): AsyncGenerator<Entry | undefined, void, undefined> {
    const queue: (Entry | undefined)[] = [];
    let wake = Promise.withResolvers<void>();
    this.watches.push((entry) => {
      queue.push(entry);
      wake.resolve();
    });
    signal.addEventListener('abort', () => wake.resolve());
    this.open += 1;
    while (!signal.aborted) {
      if (queue.length === 0) await wake.promise;
      else yield queue.shift();
      if (queue.length === 0 && !signal.aborted) wake = Promise.withResolvers();
    }
    this.open -= 1;
  }
}

describe('many observers', () => {
  it('are one watch at the store; and a vacancy is looked into once', async () => {
    const world = new World();
    const store = world.connect();
    const all = Array.from({ length: 1_000 }, () => shown(world.observer({}, store)));
    await world.pass();
    expect(world.server.watches).toMatchObject({ open: 1, opened: 1 });
    world.put(LEADER, leaderRecord(1));
    await world.pass();
    const before = world.server.requests.read;
    world.put(TERM, { v: 1, term: '1', memberId: 'm', incarnation: 'i', entry: 'e', ended: { reason: 'resigned' } });
    world.server.deleteKey(LEADER);
    await world.pass();
    expect(world.server.requests.read - before).toBe(1);
    expect(all).toEqual(all.map(() => ['unknown', 'vacant undefined', 'leader 1', 'vacant 1']));
    await world.close();
    world.expectNothingLeft();
  });

  it('that join later share one read per turn, whose result is no event for the others', async () => {
    const world = new World();
    world.put(LEADER, leaderRecord(1));
    const store = world.connect();
    const first = shown(world.observer({}, store));
    await world.pass();
    const before = world.server.requests.read;
    const later = Array.from({ length: 100 }, () => shown(world.observer({}, store)));
    await world.pass();
    expect(world.server.requests.read - before).toBe(1);
    expect(world.server.watches).toMatchObject({ open: 1, opened: 1 });
    expect([first, ...later]).toEqual([first, ...later].map(() => ['unknown', 'leader 1']));
  });

  it.each([
    ['of other elections', {}, 'other'],
    ['that wait for a read for another time', { callTimeoutMs: 700 }, NAME],
  ] as const)('%s have a watch of their own', async (_, options, name) => {
    const world = new World();
    const store = world.connect();
    shown(world.observer({}, store));
    shown(world.observer(options, store, name));
    await world.pass();
    expect(world.server.watches.open).toBe(2);
  });

  it('of other stores have a watch of their own', async () => {
    const world = new World();
    for (let count = 0; count < 2; count += 1) shown(world.observer());
    await world.pass();
    expect(world.server.watches.open).toBe(2);
  });

  it('share the watch until the last one closes; the next observer starts another watch', async () => {
    const world = new World();
    const store = world.connect();
    const [one, other] = [world.observer({}, store), world.observer({}, store)];
    const views = [shown(one), shown(other)];
    await world.pass();
    await world.run(one.close());
    expect(world.server.watches.open).toBe(1);
    world.put(LEADER, leaderRecord(1));
    await world.pass();
    await world.run(other.close());
    expect(world.server.watches.open).toBe(0);
    expect(views).toEqual([
      ['unknown', 'vacant undefined'],
      ['unknown', 'vacant undefined', 'leader 1'],
    ]);
    const third = shown(world.observer({}, store));
    await world.pass();
    expect([third, world.server.watches.open]).toEqual([['unknown', 'leader 1'], 1]);
    await world.close();
    world.server.deleteKey(LEADER);
    world.expectNothingLeft();
  });

  it('decode values of their own, and an observer that cannot decode its value does not affect the others', async () => {
    const world = new World();
    const store = world.connect();
    world.put(LEADER, leaderRecord(1, { hosts: ['a'] }));
    const fussy = world.observer(
      {
        parse: () => {
          throw new Error('not for me');
        },
      },
      store,
    );
    const [one, other] = [world.observer({}, store), world.observer({}, store)];
    const ready = track(fussy.ready);
    await world.run(Promise.all([one.ready, other.ready]));
    await world.pass();
    expect([ready.state, fussy.current.state]).toEqual(['rejected', 'unknown']);
    const value = (observer: ElectionObserver): unknown => (observer.current.state === 'leader' ? observer.current.value : undefined);
    expect(value(one)).toEqual({ hosts: ['a'] });
    expect(value(one)).not.toBe(value(other));
    expect(world.server.watches.opened).toBe(1);
  });

  it('may be closed by an observer that is called before them, and then are not called', async () => {
    const world = new World();
    const store = world.connect();
    const [one, other] = [world.observer({}, store), world.observer({}, store)];
    one.subscribe(({ state }) => void (state === 'leader' ? other.close() : undefined));
    const views = shown(other);
    await world.pass();
    world.put(LEADER, leaderRecord(1));
    await world.pass();
    expect(views).toEqual(['unknown', 'vacant undefined']);
  });

  it('show the state unknown, although a call of one of them causes it', async () => {
    const world = new World();
    const puppet = new Puppet(world.connect());
    const [one, other] = [world.observer({}, puppet.store), world.observer({}, puppet.store)];
    one.subscribe(({ state }) => (state === 'vacant' ? puppet.stale(new StoreError('CONNECTION_LOST', 'unknown', 'cut')) : undefined));
    const views = shown(other);
    world.put(LEADER, leaderRecord(1));
    await world.pass();
    puppet.watches[0]!(leader(world));
    await world.pass();
    world.server.deleteKey(LEADER);
    puppet.watches[0]!(undefined);
    await world.pass();
    expect([one.current.state, ...views]).toEqual(['unknown', 'unknown', 'leader 1', 'unknown']);
  });
});

describe('a newcomer', () => {
  /** One observer whose watch has shown term 1, and lags from then on. */
  async function lagging(): Promise<{ world: World; puppet: Puppet; first: string[]; tell: (entry: Entry | undefined) => void }> {
    const world = new World();
    const puppet = new Puppet(world.connect({ latencyMs: () => 1 }), world.clock);
    const first = shown(world.observer({}, puppet.store));
    await world.pass();
    world.put(LEADER, leaderRecord(1));
    puppet.watches[0]!(leader(world));
    await world.pass();
    expect(first).toEqual(['unknown', 'leader 1']);
    return { world, puppet, first, tell: puppet.watches[0]! };
  }

  it('gets no state older than its subscription, although the watch lags; and the others get it too', async () => {
    const { world, puppet, first, tell } = await lagging();
    world.put(LEADER, leaderRecord(1, 'published later'));
    const late = leader(world);
    world.put(LEADER, leaderRecord(2));
    const observer = world.observer({}, puppet.store);
    await world.run(observer.ready);
    expect(inShort(observer.current)).toBe('leader 2');
    const views = shown(observer);
    // Late, and of no interest any more.
    tell(late);
    await world.pass(10);
    tell(leader(world));
    await world.pass(10);
    expect([first, views]).toEqual([['unknown', 'leader 1', 'leader 2'], ['leader 2']]);
  });

  it('reads again if the watch has shown a state meanwhile', async () => {
    const { world, puppet, first, tell } = await lagging();
    const views = shown(world.observer({}, puppet.store));
    // The read has been served, and its answer is on its way.
    await world.pass(1);
    world.put(TERM, { v: 1, term: '1', memberId: 'm', incarnation: 'i', entry: 'e', ended: { reason: 'resigned' } });
    world.server.deleteKey(LEADER);
    tell(undefined);
    await world.pass(10);
    expect([first.at(-1), views]).toEqual(['vacant 1', ['unknown', 'vacant 1']]);
  });

  it('that comes while the state is unknown gets the cause, and then what the others get', async () => {
    const { world, puppet, first, tell } = await lagging();
    puppet.stale(new StoreError('CONNECTION_LOST', 'unknown', 'cut'));
    const observer = world.observer({}, puppet.store);
    const views = shown(observer);
    expect(observer.current).toMatchObject({ state: 'unknown', cause: { code: 'CONNECTION_LOST' } });
    const { reads } = puppet;
    await world.pass(10);
    expect(puppet.reads).toBe(reads);
    tell(leader(world));
    await world.pass(10);
    expect([first, views.at(-1)]).toEqual([['unknown', 'leader 1', 'unknown', 'leader 1'], 'leader 1']);
    expect(puppet.reads).toBe(reads + 1);
  });

  it('whose read fails restarts the watch, without an event for the others', async () => {
    const { world, puppet, first } = await lagging();
    puppet.failing = true;
    const ready = track(world.observer({}, puppet.store).ready);
    await world.pass(10);
    expect([puppet.watches.length, ready.state]).toEqual([2, 'pending']);
    puppet.watches[1]!(leader(world));
    await world.pass();
    // Its first state is no older than the newcomer: nothing is read.
    expect([first, ready.state, puppet.reads]).toEqual([['unknown', 'leader 1'], 'resolved', 1]);
  });

  it('that restarts the watch makes the view unknown if the new watch shows no state in time', async () => {
    const { world, puppet, first } = await lagging();
    puppet.failing = true;
    const observer = world.observer({ callTimeoutMs: 2_500 }, puppet.store);
    shown(observer);
    await world.pass(2_400);
    expect([puppet.watches.length, first.at(-1)]).toEqual([2, 'leader 1']);
    await world.pass(200);
    expect(first.at(-1)).toBe('unknown');
    expect(observer.current).toMatchObject({ state: 'unknown', cause: { code: 'TIMEOUT' } });
    puppet.watches[1]!(leader(world));
    await world.pass(10_000);
    expect([first.at(-1), observer.current.state]).toEqual(['leader 1', 'leader']);
  });

  it('that knows of the end of a term is not shown that term as led by a late event, nor are the others', async () => {
    const { world, puppet, first, tell } = await lagging();
    world.put(LEADER, leaderRecord(1, 'published later'));
    const late = leader(world);
    world.put(TERM, leaderRecord(1));
    world.server.deleteKey(LEADER);
    const views = shown(world.observer({}, puppet.store));
    await world.pass(10);
    tell(late);
    await world.pass(10);
    expect([first, views]).toEqual([
      ['unknown', 'leader 1', 'vacant 1'],
      ['unknown', 'vacant 1'],
    ]);
    puppet.watches[1]!(undefined);
    await world.pass(10);
    expect([first.at(-1), views.at(-1), puppet.watches.length]).toEqual(['vacant 1', 'vacant 1', 2]);
  });

  it('gets a state, although the leader publishes faster than the store answers', async () => {
    const { world, puppet } = await lagging();
    const ready = track(world.observer({}, puppet.store).ready);
    for (let n = 0; n < 20; n += 1) {
      world.put(LEADER, leaderRecord(1, n));
      puppet.watches.at(-1)!(leader(world));
      await world.pass(1);
    }
    expect([ready.state, puppet.watches.length]).toEqual(['resolved', 2]);
  });

  it('whose read was answered late shows nothing older than a state found meanwhile', async () => {
    const { world, puppet, first, tell } = await lagging();
    world.put(TERM, leaderRecord(1));
    world.server.deleteKey(LEADER);
    const before = puppet.reads;
    // The first read for the watch's event, and the last of those for the newcomer.
    puppet.late = (nth) => ({ 1: 20, 5: 50 })[nth - before] ?? 0;
    tell(undefined);
    await world.pass();
    const views = shown(world.observer({}, puppet.store));
    await world.pass(12);
    expect(puppet.reads - before).toBe(5);
    world.put(TERM, leaderRecord(2));
    world.put(LEADER, leaderRecord(2));
    await world.pass(100);
    expect([first, views]).toEqual([
      ['unknown', 'leader 1', 'leader 2'],
      ['unknown', 'leader 2'],
    ]);
  });

  it('makes a failed watch retry at once, and gets no event of that', async () => {
    const world = new World();
    const puppet = new Puppet(world.connect());
    puppet.refusing = new StoreError('PERMISSION_DENIED', 'refused', 'not yours');
    const first = shown(world.observer({}, puppet.store));
    await world.pass(100_000);
    puppet.refusing = undefined;
    const observer = world.observer({}, puppet.store);
    const ready = track(observer.ready);
    await world.pass();
    expect([puppet.watches.length, ready.state]).toEqual([1, 'pending']);
    puppet.watches[0]!(undefined);
    await world.pass();
    expect([ready.state, observer.current.state, first.at(-1)]).toEqual(['resolved', 'vacant', 'vacant undefined']);
  });

  it('that is closed in the call that shows the state unknown does not keep the watch', async () => {
    const world = new World();
    const puppet = new Puppet(world.connect());
    const first = world.observer({}, puppet.store);
    shown(first);
    await world.pass();
    puppet.stale(new StoreError('CONNECTION_LOST', 'unknown', 'cut'));
    const none = (): void => {};
    const close = (): void => void observer.close();
    const observer: ElectionObserver = world.observer({ logger: { debug: close, info: none, warn: none, error: none } }, puppet.store);
    expect(shown(observer)).toEqual(['unknown']);
    expect(puppet.open).toBe(1);
    await world.run(first.close());
    expect(puppet.open).toBe(0);
  });

  it('that closes before its first state leaves nothing behind', async () => {
    const { world, puppet } = await lagging();
    const observer = world.observer({}, puppet.store);
    const ready = track(observer.ready);
    await world.run(observer.close());
    await world.pass(10);
    expect(ready.error).toMatchObject({ code: 'OBSERVER_CLOSED' });
    await world.close();
    world.server.deleteKey(LEADER);
    world.expectNothingLeft();
  });
});
