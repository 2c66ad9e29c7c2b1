/** What any process sees of a value that a leader stores. */

import type { MemoryStore } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { type Store, StoredValueObserver, type StoredValueObserverOptions, type StoredValueView } from '../../src/index.ts';
import { denied, relay, timeout } from '../support/relay.ts';
import { World } from '../support/world.ts';

const KEY = 'assignments';
const MAX_AGE_MS = 2_000;

/** A world with one observer of `KEY`, and what its subscriber was told. */
class Observed {
  readonly world = new World();
  readonly link: MemoryStore = this.world.connect();
  readonly views: StoredValueView[] = [];
  readonly observer: StoredValueObserver;

  constructor(options: StoredValueObserverOptions = {}, storeOf: (link: MemoryStore) => Store = (link) => link) {
    const given = { maxAgeMs: MAX_AGE_MS, clock: this.world.clock, logger: this.world.events, ...options };
    this.observer = new StoredValueObserver(storeOf(this.link), KEY, given);
    this.observer.subscribe((view) => this.views.push(view));
  }

  async put(value: string): Promise<void> {
    const store = this.world.connect();
    const expected = this.world.entry(KEY)?.revision ?? null;
    await this.world.run(store.compareAndSwap([{ key: KEY, expect: expected, put: new TextEncoder().encode(value) }]));
    await this.world.run(store.close());
  }

  async close(): Promise<void> {
    await this.world.run(this.observer.close());
  }
}

describe('an observer of a stored value', () => {
  it('shows what a leader stores, from the first read on', async () => {
    const { world, link, observer, views } = new Observed();
    const leadership = await world.elect(world.member('a'));
    await world.run(observer.ready);
    await world.run(leadership.stored(KEY).put({ p0: 'b' }));
    await world.pass(100);
    expect(views).toMatchObject([{ state: 'unknown' }, { state: 'known', value: undefined }, { state: 'known', value: { p0: 'b' } }]);
    expect(observer.current).toEqual({ state: 'known', value: { p0: 'b' } });
    await world.run(observer.close());
    await world.run(link.close());
  });

  it('tells nothing again while nothing changes, although it reads', async () => {
    let reads = 0;
    const observed = new Observed({}, (link) =>
      relay(link, {
        read: (...call) => {
          reads += 1;
          return link.read(...call);
        },
      }),
    );
    await observed.put('1');
    await observed.world.pass(10 * MAX_AGE_MS);
    expect(observed.views.map(({ state }) => state)).toEqual(['unknown', 'known', 'known']);
    expect(reads).toBeGreaterThan(39);
    expect(reads).toBeLessThan(60);
    await observed.close();
  });

  it('sees a change at the next read if its watch is silent', async () => {
    const observed = new Observed({}, (link) =>
      relay(link, {
        async *watch(_key, options = {}) {
          await new Promise<void>((resolve) => options.signal?.addEventListener('abort', () => resolve()));
        },
      }),
    );
    await observed.put('1');
    await observed.world.pass(MAX_AGE_MS / 4);
    expect(observed.observer.current).toMatchObject({ state: 'known', value: 1 });
    await observed.close();
  });

  it('says unknown once the store has not answered for maxAgeMs, counted from the start of the last read', async () => {
    let startedMs = 0;
    const observed = new Observed({}, (link) =>
      relay(link, {
        read: async (...call) => {
          const at = observed.world.clock.monotonic();
          const entry = await link.read(...call);
          startedMs = at;
          return entry;
        },
      }),
    );
    const { world, link, observer, views } = observed;
    await observed.put('1');
    await world.pass(100);
    link.link.cutOff();
    const lastMs = startedMs;
    await world.pass(lastMs + MAX_AGE_MS - 1 - world.clock.monotonic());
    expect(observer.current.state).toBe('known');
    await world.pass(1);
    expect(views.at(-1)).toMatchObject({ state: 'unknown', cause: { code: expect.any(String) }, last: { value: 1 } });
    link.link.heal();
    await world.pass(MAX_AGE_MS);
    expect(views.at(-1)).toEqual({ state: 'known', value: 1 });
    await observed.close();
  });

  it('says unknown at once after a pause of the process, before any timer has run', async () => {
    const observed = new Observed();
    await observed.put('1');
    await observed.world.pass(100);
    observed.world.clock.advanceWall(MAX_AGE_MS);
    expect(observed.observer.current).toMatchObject({ state: 'unknown', cause: { code: 'TIMEOUT' } });
    await observed.close();
  });

  it('shows a value again that was deleted and created with other bytes', async () => {
    const observed = new Observed();
    await observed.put('1');
    await observed.world.pass(100);
    const revision = observed.world.entry(KEY)?.revision ?? '';
    await observed.world.run(observed.link.compareAndSwap([{ key: KEY, expect: revision, delete: true }]));
    await observed.world.pass(100);
    expect(observed.observer.current).toEqual({ state: 'known', value: undefined });
    await observed.put('2');
    await observed.world.pass(100);
    expect(observed.observer.current).toEqual({ state: 'known', value: 2 });
    await observed.close();
  });

  it('says unknown while the value cannot be decoded, and rejects ready', async () => {
    const observed = new Observed();
    const ready = observed.observer.ready.catch((error: unknown) => error);
    await observed.put('{');
    await observed.world.pass(MAX_AGE_MS);
    expect(observed.views.at(-1)).toMatchObject({ state: 'unknown', cause: { code: 'FOREIGN_DATA', details: { key: KEY } } });
    await observed.put('3');
    await observed.world.pass(100);
    expect(observed.observer.current).toEqual({ state: 'known', value: 3 });
    await observed.close();
    void ready;
  });

  it('rejects ready if the store refuses to read the key, and goes on trying', async () => {
    let isDenied = true;
    const observed = new Observed({}, (link) =>
      relay(link, {
        read: async (...call) => {
          if (isDenied) throw denied();
          return link.read(...call);
        },
      }),
    );
    await expect(observed.world.run(observed.observer.ready)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    isDenied = false;
    await observed.world.pass(MAX_AGE_MS);
    expect(observed.observer.current.state).toBe('known');
    await observed.close();
  });

  it('names the first error of a store that does not answer, and tells it once', async () => {
    const observed = new Observed({}, (link) =>
      relay(link, {
        read: async () => {
          throw timeout();
        },
      }),
    );
    await observed.world.pass(5 * MAX_AGE_MS);
    expect(observed.views).toMatchObject([{ state: 'unknown' }, { state: 'unknown', cause: { code: 'TIMEOUT' } }]);
    expect(observed.world.events.about('tried again')).toMatchObject([{ doing: 'observingValue', key: KEY }]);
    await observed.close();
  });

  it('that has no answer and is then refused shows the refusal, once', async () => {
    let error = timeout;
    const observed = new Observed({}, (link) =>
      relay(link, {
        read: async () => {
          throw error();
        },
      }),
    );
    await observed.world.pass(3 * MAX_AGE_MS);
    error = denied;
    await observed.world.pass(3 * MAX_AGE_MS);
    expect(observed.views).toMatchObject([
      { state: 'unknown' },
      { state: 'unknown', cause: { code: 'TIMEOUT' } },
      { state: 'unknown', cause: { code: 'PERMISSION_DENIED' } },
    ]);
    await observed.close();
  });

  it('that has no answer and then reads data that it cannot decode shows that', async () => {
    const observed = new Observed();
    const { world, link, views } = observed;
    await observed.put('1');
    await world.pass(100);
    link.link.cutOff();
    await world.pass(3 * MAX_AGE_MS);
    await observed.put('{');
    link.link.heal();
    await world.pass(3 * MAX_AGE_MS);
    expect(views.at(-1)).toMatchObject({ state: 'unknown', cause: { code: 'FOREIGN_DATA' }, last: { value: 1 } });
    await observed.close();
  });

  it('whose `ready` nobody awaits does not end the program when it is closed', async () => {
    const observed = new Observed();
    observed.link.link.cutOff();
    // An unhandled rejection fails this test run.
    void observed.observer.ready;
    await observed.world.pass(100);
    await observed.close();
    await observed.world.pass();
  });

  it('ends with the store', async () => {
    const observed = new Observed();
    await observed.world.pass(100);
    const views = observed.observer.views();
    await observed.world.run(observed.link.close());
    await observed.world.pass(MAX_AGE_MS);
    await observed.world.run(views.next());
    await expect(observed.world.run(views.next())).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    await observed.close();
  });

  it('that is closed shows unknown, ends its iterations, and starts nothing any more', async () => {
    const observed = new Observed();
    await observed.world.pass(100);
    const views = observed.observer.views();
    await observed.close();
    await observed.world.run(views.next());
    expect(await observed.world.run(views.next())).toMatchObject({ done: true });
    expect(observed.observer.current).toMatchObject({ state: 'unknown', cause: { code: 'OBSERVER_CLOSED' } });
  });

  it('that is closed before it has started starts nothing, and its ready rejects', async () => {
    const world = new World();
    const observer = new StoredValueObserver(world.connect(), KEY, { clock: world.clock });
    await world.run(observer.close());
    await expect(world.run(observer.ready)).rejects.toMatchObject({ code: 'OBSERVER_CLOSED' });
  });

  it('that is closed during a read leaves nothing behind', async () => {
    const observed = new Observed({}, (link) => relay(link, {}));
    observed.link.link.cutOff();
    await observed.world.pass(100);
    await observed.close();
    await observed.world.run(observed.link.close());
    expect(observed.observer.current.state).toBe('unknown');
  });

  it.each<[string, string, object, RegExp]>([
    ['a key of the SDK', 'elections/x/leader', {}, /outside elections/],
    ['a maxAgeMs below its range', KEY, { maxAgeMs: 99 }, /^maxAgeMs is 99: it must be a number from 100 to 600000/],
    ['an unknown option', KEY, { maxAge: 1 }, /maxAge/],
  ])('refuses %s', (_, key, options, message) => {
    expect(() => new StoredValueObserver(new World().connect(), key, options)).toThrow(message);
  });
});
