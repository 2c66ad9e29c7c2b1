/** Observers of one election, through one store, see it by one watch; each as if it were alone. */

import { describe, expect, it } from 'vitest';
import { StoreError, type ElectionObserver, type ElectionView, type Entry, type Store } from '../src/index.ts';
import { relay } from './support/relay.ts';
import { track } from './support/track.ts';
import { LEADER, NAME, TERM, World } from './support/world.ts';

function leaderRecord(term: number, value?: unknown): object {
  return { v: 1, term: String(term), memberId: 'm', incarnation: 'i', entry: `e${term}`, value };
}

function inShort(view: ElectionView<unknown>): string {
  return view.state === 'unknown' ? 'unknown' : `${view.state} ${view.term}`;
}

function shown(observer: ElectionObserver): string[] {
  const views: string[] = [];
  observer.subscribe((view) => views.push(inShort(view)));
  return views;
}

/** A store whose watches tell, when they are told to, what the test says. */
class Puppet {
  readonly watches: ((entry: Entry | undefined) => void)[] = [];
  readonly store: Store;
  stale: (cause: StoreError) => void = () => {};
  reads = 0;
  failing = false;

  constructor(behind: Store) {
    this.store = relay(behind, {
      read: (...args) => {
        this.reads += 1;
        return this.failing ? Promise.reject(new StoreError('TIMEOUT', 'unknown', 'late')) : behind.read(...args);
      },
      watch: (_, { signal, onStale }) => {
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
    while (!signal.aborted) {
      if (queue.length === 0) await wake.promise;
      else yield queue.shift();
      if (queue.length === 0 && !signal.aborted) wake = Promise.withResolvers();
    }
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

  it('that come later ask once for all who come at a time, and what they ask is news to nobody else', async () => {
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

  it('share the watch until the last one closes; whoever comes then begins another', async () => {
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

  it('have values of their own, and one that cannot read its value is alone in that', async () => {
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

  it('may be closed by one that is told before them, and are not told then', async () => {
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
});

describe('a newcomer', () => {
  /** One observer whose watch has told of term 1, and lags behind from then on. */
  async function lagging(): Promise<{ world: World; puppet: Puppet; first: string[]; tell: (entry: Entry | undefined) => void }> {
    const world = new World();
    const puppet = new Puppet(world.connect({ latencyMs: () => 1 }));
    const first = shown(world.observer({}, puppet.store));
    await world.pass();
    world.put(LEADER, leaderRecord(1));
    puppet.watches[0]!(leader(world));
    await world.pass();
    expect(first).toEqual(['unknown', 'leader 1']);
    return { world, puppet, first, tell: puppet.watches[0]! };
  }

  function leader(world: World): Entry | undefined {
    return world.server.entries().find(({ key }) => key === LEADER);
  }

  it('is told nothing older than its coming, though the watch has told nothing newer; and the others learn of it', async () => {
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

  it('reads again where the watch has told something meanwhile', async () => {
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

  it('that comes while nothing is known is told why, and then what the others are told', async () => {
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

  it('whose read fails has the watch begun again, for all', async () => {
    const { world, puppet, first } = await lagging();
    puppet.failing = true;
    const ready = track(world.observer({}, puppet.store).ready);
    await world.pass(10);
    expect([first.at(-1), ready.state]).toEqual(['unknown', 'pending']);
    puppet.failing = false;
    await world.until(() => puppet.watches.length === 2, 'there is another watch');
    puppet.watches[1]!(leader(world));
    await world.pass();
    // Its first state is no older than the newcomer: nothing is read.
    expect([first.at(-1), ready.state, puppet.reads]).toEqual(['leader 1', 'resolved', 1]);
  });

  it('that closes before it was told leaves nothing behind', async () => {
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
