import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { pairs, type FakeResponse } from './fake-agent.ts';
import { eventually, inTurn, RecordingClock, scene, Watched, type Scene } from './watch-scene.ts';

describe('many watches', () => {
  it('have at most 64 queries: watches whose keys begin with the same name share one, and in the end all do', async () => {
    await using on = await scene();
    on.agent.respond = ({ query }) => (query.has('consistent') ? pairs(8, ['app/elections/e999/leader', 8], ['app/k999', 7]) : undefined);
    const elections = Array.from({ length: 1_000 }, (_, i) => new Watched(on.store, `elections/e${i}/leader`));
    const others = Array.from({ length: 1_000 }, (_, i) => new Watched(on.store, `k${i}`));
    await eventually('all', () => [...elections, ...others].every(({ seen }) => seen.length > 0));
    expect([elections.at(-1)?.seen, elections[998]?.seen]).toEqual([['8'], [undefined]]);
    expect([others.at(-1)?.seen, others[998]?.seen]).toEqual([['7'], [undefined]]);
    const waits = (): ReadonlySet<string> => new Set(on.agent.requests.filter(({ query }) => query.has('index')).map(({ path }) => path));
    await eventually('all wait', () => waits().has('/v1/kv/app/elections/') && waits().has('/v1/kv/app/'));
    expect([waits().size, on.agent.pending]).toEqual([50, 50]);
  });

  it('may share a query for more keys than the longest list has', async () => {
    await using on = await scene({ maxBlockingQueries: 4 });
    const others = Array.from({ length: 30_000 }, (_, i) => [`app/other/k${i}`, 6] as const);
    on.agent.respond = ({ query }) =>
      query.has('consistent') ? pairs(8, ['app/a3', 8], ...(query.has('recurse') ? others : [])) : undefined;
    const watches = ['a0', 'a1', 'a2', 'a3', 'a4'].map((key) => new Watched(on.store, key));
    await eventually('all', () => watches.every(({ seen }) => seen.length > 0));
    expect(watches.map(({ seen, stale }) => [seen, stale])).toEqual(
      [undefined, undefined, undefined, '8', undefined].map((now) => [[now], []]),
    );
  });

  it('of lists may share a query with watches of keys', async () => {
    await using on = await scene({ maxBlockingQueries: 4 });
    const states = new Map([
      [null, pairs(8, ['app/b', 8], ['app/l/x', 6], ['app/l/y', 7])],
      ['8', pairs(9, ['app/l/y', 7])],
    ]);
    on.agent.respond = ({ query }) => (query.has('recurse') || query.has('consistent') ? states.get(query.get('index')) : undefined);
    const alone = ['a0', 'a1', 'a2'].map((key) => new Watched(on.store, key));
    await eventually('three queries', () => alone.every(({ seen }) => seen.length === 1));
    const key = new Watched(on.store, 'b');
    const lists: (readonly string[])[] = [];
    const follow = async (): Promise<void> => {
      for await (const entries of on.store.watchList('l')) lists.push(entries.map(({ name }) => name));
    };
    void follow().catch(() => {});
    await eventually('both', () => key.seen.length === 2 && lists.length === 2);
    expect([key.seen, lists]).toEqual([
      ['8', undefined],
      [['x', 'y'], ['y']],
    ]);
  });

  it('that join others and leave at once do not change how the others wait', async () => {
    await using on = await scene();
    on.agent.respond = ({ query }) => (query.has('consistent') ? pairs(8, ['app/a', 8]) : undefined);
    const first = new Watched(on.store, 'a');
    await eventually('the first', () => first.seen.length === 1 && on.agent.pending === 1);
    const leaving = new AbortController();
    void on.store.watch('a', { signal: leaving.signal })[Symbol.asyncIterator]().next();
    leaving.abort();
    await eventually('it waits again', () => on.queries().at(-1) === 'after 8' && on.queries().length > 2);
    const { length } = on.queries();
    const other = new Watched(on.store, 'b');
    await eventually('another has been served', () => other.seen.length === 1 && on.agent.pending === 2);
    expect(on.queries().length - length).toBe(2);
  });

  it('that join others during an outage do not extend the time until the others are stale', async () => {
    const clock = new ManualClock();
    await using on = await scene({ clock, watchWaitMs: 1_600 });
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]));
    const first = new Watched(on.store, 'a');
    await eventually('the first waits', () => first.seen.length === 1 && on.agent.pending === 1);
    await clock.advance(2_600);
    const second = new Watched(on.store, 'a');
    // The pause in which more watches may join.
    await clock.advance(5);
    await eventually('the read for the second', () => on.queries().length === 3);
    await clock.advance(94);
    expect([first.stale, second.stale]).toEqual([[], []]);
    await clock.advance(1);
    expect([first.stale, second.stale]).toMatchObject([[{ code: 'TIMEOUT' }], []]);
    on.agent.respond = () => pairs(8, ['app/a', 8]);
    // The read times out, and is repeated after a pause.
    await clock.advance(5_000);
    expect([first.stale.length, second.stale.length]).toEqual([1, 1]);
    await clock.advance(1_000);
    await eventually('both', () => first.seen.length === 2 && second.seen.length === 1);
    expect([first.seen, second.seen, first.stale.length, second.stale.length]).toEqual([['8', '8'], ['8'], 1, 1]);
  });

  it('that join others just before the others are stale do not delay it', async () => {
    const clock = new ManualClock();
    await using on = await scene({ clock, watchWaitMs: 1_600 });
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]));
    const first = new Watched(on.store, 'a');
    await eventually('the first waits', () => first.seen.length === 1 && on.agent.pending === 1);
    await clock.advance(2_698);
    const second = new Watched(on.store, 'a');
    // The pause in which more watches may join is longer than this.
    await clock.advance(1);
    expect(first.stale).toEqual([]);
    await clock.advance(1);
    expect([first.stale, second.stale]).toMatchObject([[{ code: 'TIMEOUT' }], []]);
  });

  it('that join others leave them the whole time of a wait that was sent after a pause', async () => {
    const clock = new RecordingClock();
    await using on = await scene({ clock, watchWaitMs: 1_600 });
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(9, ['app/a', 9]));
    const first = new Watched(on.store, 'a');
    await eventually('the pause after a change', () => clock.delaysMs.at(-1) === 100);
    await clock.advance(100);
    await eventually('the first waits', () => on.queries().length === 3);
    await clock.advance(2_600);
    const second = new Watched(on.store, 'a');
    await clock.advance(5);
    await eventually('the read for the second', () => on.queries().length === 4);
    await clock.advance(94);
    expect([first.stale, second.stale]).toEqual([[], []]);
    await clock.advance(1);
    expect([first.stale, second.stale]).toMatchObject([[{ code: 'TIMEOUT' }], []]);
  });

  it('that join others do not make them stale if their read is answered late, but in time for the others', async () => {
    const clock = new ManualClock();
    await using on = await scene({ clock, watchWaitMs: 1_600 });
    const late = Promise.withResolvers<FakeResponse>();
    const answers = [pairs(8, ['app/a', 8]), undefined, late.promise];
    on.agent.respond = () => answers.shift();
    const first = new Watched(on.store, 'a');
    await eventually('the first waits', () => first.seen.length === 1 && on.agent.pending === 1);
    await clock.advance(1_000);
    const second = new Watched(on.store, 'a');
    await clock.advance(5);
    await eventually('the read for the second', () => on.queries().length === 3);
    await clock.advance(1_600);
    late.resolve(pairs(8, ['app/a', 8]));
    await eventually('the second waits', () => second.seen.length === 1 && on.queries().length === 4);
    await clock.advance(2_600);
    expect([first.seen, first.stale, second.stale]).toEqual([['8'], [], []]);
  });

  it('that join others are shown a state that is read afterwards', async () => {
    await using on = await scene();
    let index = 8;
    on.agent.respond = ({ query }) => (query.has('consistent') ? pairs(index, ['app/a', index]) : undefined);
    const first = new Watched(on.store, 'a');
    await eventually('the first', () => first.seen.length === 1);
    // No answer has reported this change yet.
    index = 9;
    const second = new Watched(on.store, 'a');
    await eventually('the second', () => second.seen.length === 1);
    expect([first.seen, second.seen]).toEqual([['8', '9'], ['9']]);
  });
});

describe('a watch that fails for a reason of its own', () => {
  interface Broken extends Scene {
    readonly clock: ManualClock;
    /** How often the query of the watch has failed. */
    failures(): number;
    /** Answers the waiting query of `a` with a change. False if none is waiting. */
    change(): boolean;
  }

  /** The answers to one watch, of the key `broken`, cannot be read. The first one has failed. */
  async function sceneWithBroken(): Promise<Broken> {
    const clock = new ManualClock();
    const on = await scene({ clock });
    let index = 8;
    let waiting: PromiseWithResolvers<FakeResponse> | undefined;
    on.agent.respond = ({ path, query }) => {
      if (path.endsWith('/broken')) return { ...pairs(8), body: 'not a list' };
      if (query.has('consistent')) return pairs(index, ['app/a', index]);
      waiting = Promise.withResolvers();
      return waiting.promise;
    };
    const change = (): boolean => {
      index += 1;
      const [answered, answer] = [waiting, pairs(index, ['app/a', index])];
      waiting = undefined;
      answered?.resolve(answer);
      return answered !== undefined;
    };
    const broken = new Watched(on.store, 'broken');
    await eventually('it fails', () => broken.stale.length === 1);
    return { ...on, clock, failures: () => on.requests().filter(({ path }) => path.endsWith('/broken')).length, change };
  }

  it('does not pause the others', async () => {
    await using on = await sceneWithBroken();
    const other = new Watched(on.store, 'a');
    // No time passes.
    await eventually('the other waits', () => other.seen.length === 1 && on.queries().at(-1) === 'after 8');
    expect([on.failures(), other.stale]).toEqual([1, []]);
  });

  it('is repeated less and less often, although the others succeed', async () => {
    await using on = await sceneWithBroken();
    const other = new Watched(on.store, 'a');
    while (on.clock.monotonic() < 3_000) {
      await on.clock.advance(25);
      const shown = other.seen.length;
      if (on.change()) await eventually('the change', () => other.seen.length > shown);
      await on.store.list('none').catch(() => {});
    }
    // After half of each pause: 50, 100, 200, 400, and then 500 ms.
    expect(on.failures()).toBeLessThanOrEqual(10);
    expect([other.seen.length > 10, other.stale]).toEqual([true, []]);
  });
});
