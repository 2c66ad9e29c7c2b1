import type { Cancel, Entry, Store, StoreError } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import type { ConsulOptions } from '../src/index.ts';
import {
  ABSENT,
  leaseCall,
  openOnFakeAgent,
  opens,
  pairs,
  servesLeases,
  type FakeConsul,
  type FakeRequest,
  type FakeResponse,
} from './fake-agent.ts';

interface Scene extends FakeConsul {
  /** The requests of watches: consistent reads, and the indexes that queries waited behind. */
  queries(): readonly string[];
}

async function scene(options: Partial<ConsulOptions> = {}): Promise<Scene> {
  const opened = await openOnFakeAgent(opens, options);
  const queries = (): readonly string[] =>
    opened.requests().map(({ query }) => (query.has('consistent') ? 'now' : `after ${query.get('index')}`));
  return { ...opened, queries };
}

/** Sends these responses in turn, and none after the last. */
function inTurn(...answers: readonly (FakeResponse | 'reset')[]): (asked: FakeRequest) => FakeResponse | 'reset' | undefined {
  const left = [...answers];
  return () => left.shift();
}

class RecordingClock extends ManualClock {
  /** The delays of all timers so far. */
  readonly delaysMs: number[] = [];

  override schedule(delayMs: number, task: () => void): Cancel {
    this.delaysMs.push(delayMs);
    return super.schedule(delayMs, task);
  }
}

class Watched {
  readonly seen: (string | undefined)[] = [];
  readonly stale: StoreError[] = [];
  error: unknown;

  constructor(store: Store, key: string) {
    const { signal } = new AbortController();
    const watch = store.watch(key, { signal, onStale: (cause) => this.stale.push(cause) });
    void this.#consume(watch).catch((error: unknown) => {
      this.error = error;
    });
  }

  async #consume(watch: AsyncIterable<Entry | undefined>): Promise<void> {
    for await (const entry of watch) this.seen.push(entry?.revision);
  }
}

function eventually(what: string, holds: () => boolean): Promise<true> {
  return until(() => holds() || undefined, { what });
}

describe('a watch', () => {
  it('that begins while the store closes ends with STORE_CLOSED, and reads nothing', async () => {
    const deregisters = ({ path }: FakeRequest): boolean => path.startsWith('/v1/agent/check/deregister');
    await using on = await openOnFakeAgent(servesLeases);
    const { id } = await on.store.grantLease(10_000, leaseCall());
    // The close waits half a second for the check of the lease to be removed.
    on.agent.respond = (request) => (deregisters(request) ? undefined : servesLeases(request));
    await on.store.revokeLease(id);
    await eventually('the removal', () => on.requests().some(deregisters));
    const closing = on.store.close();
    const watched = new Watched(on.store, 'a');
    await closing;
    await eventually('the end', () => watched.error !== undefined);
    expect(watched.error).toMatchObject({ code: 'STORE_CLOSED' });
    expect(watched.seen).toEqual([]);
  });

  it('begins with a consistent read, and then waits behind its index', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(9, ['app/a', 9]));
    const watched = new Watched(on.store, 'a');
    await eventually('both', () => watched.seen.length === 2 && on.queries().length === 3);
    expect([watched.seen, on.queries()]).toEqual([
      ['8', '9'],
      ['now', 'after 8', 'after 9'],
    ]);
    expect(on.agent.requests.at(-1)?.query.get('wait')).toBe('10000ms');
  });

  it('does not take every answer for a change', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(8, ['app/a', 8]), pairs(9, ['app/a', 8]), pairs(10, ['app/a', 10]));
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => on.queries().length === 5);
    expect(watched.seen).toEqual(['8', '10']);
  });

  it('does not read the body of an answer without a change', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), { ...pairs(8), body: 'not a list' }, pairs(9, ['app/a', 9]));
    const watched = new Watched(on.store, 'a');
    await eventually('the change', () => watched.seen.length === 2 && on.queries().length === 4);
    expect([watched.seen, watched.stale, on.queries()]).toEqual([['8', '9'], [], ['now', 'after 8', 'after 8', 'after 9']]);
  });

  it('forgets an index that goes back, ignores the state that came with it, and reads again', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(3, ['app/a', 3]), pairs(4, ['app/a', 4]));
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => on.queries().length === 4);
    expect([watched.seen, on.queries()]).toEqual([
      ['8', '4'],
      ['now', 'after 8', 'now', 'after 4'],
    ]);
  });

  it('never waits behind an index below 1, as the server would answer at once', async () => {
    await using on = await scene();
    on.agent.respond = inTurn({ ...ABSENT, headers: { ...ABSENT.headers, 'x-consul-index': '0' } });
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => on.queries().length === 2);
    expect([watched.seen, on.queries()]).toEqual([[undefined], ['now', 'after 1']]);
  });

  it.each<[string, FakeResponse | 'reset']>([
    [
      'has no leader',
      { ...pairs(9, ['app/a', 9]), headers: { ...ABSENT.headers, 'x-consul-index': '9', 'x-consul-knownleader': 'false' } },
    ],
    [
      'has not heard from the leader for long',
      { ...pairs(9, ['app/a', 9]), headers: { 'x-consul-index': '9', 'x-consul-lastcontact': '5000' } },
    ],
    ['fails', { status: 500, body: 'No cluster leader' }],
    ['ends the connection', 'reset'],
  ])('goes stale when the server %s, and then shows the state again, changed or not', async (_, answer) => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), answer, pairs(8, ['app/a', 8]));
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => watched.seen.length === 2);
    expect([watched.seen, watched.stale.length, on.queries().slice(0, 3)]).toEqual([['8', '8'], 1, ['now', 'after 8', 'now']]);
  });

  it('goes stale when no answer comes within the wait, a sixteenth of it and 1 s', async () => {
    const clock = new ManualClock();
    await using on = await scene({ clock, watchWaitMs: 1_600 });
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]));
    const watched = new Watched(on.store, 'a');
    await eventually('it is shown', () => watched.seen.length === 1);
    await eventually('it waits', () => on.agent.pending === 1);
    await clock.advance(2_699);
    expect(watched.stale).toEqual([]);
    await clock.advance(1);
    expect(watched.stale).toMatchObject([{ code: 'TIMEOUT' }]);
  });

  it('ends if the token may not read its key', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), { status: 403, body: 'Permission denied' });
    const watched = new Watched(on.store, 'a');
    await eventually('it ends', () => watched.error !== undefined);
    expect(watched.error).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('sends 10 queries a second to a server that reports changes all the time', async () => {
    await using on = await scene();
    let index = 8;
    on.agent.respond = () => pairs((index += 1), ['app/a', index]);
    const from = performance.now();
    const watched = new Watched(on.store, 'a');
    await eventually('some', () => on.queries().length >= 6);
    expect(performance.now() - from).toBeGreaterThan(390);
    await eventually('the last', () => watched.seen.at(-1) === String(index));
  });

  it('sends 20 queries at once, and then 20 a second, to a server that answers without a change', async () => {
    await using on = await scene();
    on.agent.respond = () => pairs(8, ['app/a', 8]);
    const from = performance.now();
    const watched = new Watched(on.store, 'a');
    await eventually('some', () => on.queries().length >= 30);
    expect(performance.now() - from).toBeGreaterThan(400);
    expect(watched.seen).toEqual(['8']);
  });

  it('has not sent another query when its consumer is done within a moment', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(9, ['app/a', 9]));
    for await (const entry of on.store.watch('a', { signal: new AbortController().signal })) {
      if (entry?.revision === '9') break;
    }
    // This read is sent after the watch could have sent a query.
    await on.store.read('b', { timeoutMs: 200 }).catch(() => {});
    expect(on.queries()).toEqual(['now', 'after 8', 'now']);
  });
});

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
