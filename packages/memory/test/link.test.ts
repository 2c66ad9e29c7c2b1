import { describe, expect, it } from 'vitest';
import { bench, bytes, call, create, failure, follow, leaseCall, text } from './support.ts';

describe('a link that is cut off', () => {
  it('makes calls reach their timeout with an unknown outcome; their requests never arrive', async () => {
    const { clock, server, store } = bench();
    store.link.cutOff();
    const outcome = failure(create(store, 'a'));
    await clock.advance(99);
    store.link.heal();
    await clock.advance(1);
    expect(await outcome).toBe('TIMEOUT unknown');
    await clock.advance(1_000);
    expect(server.keys()).toEqual([]);
    expect(server.requests.compareAndSwap).toBe(0);
  });

  it('loses requests and answers that are under way', async () => {
    const { clock, server, store } = bench({}, { latencyMs: 10 });
    const [lateRequest, lateAnswer] = [failure(create(store, 'a')), Promise.withResolvers<unknown>()];
    await clock.advance(5);
    store.link.cutOff();
    await clock.advance(20);
    store.link.heal();
    lateAnswer.resolve(failure(create(store, 'b')));
    await clock.advance(15);
    store.link.cutOff();
    await clock.advance(200);
    expect([await lateRequest, await lateAnswer.promise]).toEqual(['TIMEOUT unknown', 'TIMEOUT unknown']);
    expect(server.keys()).toEqual(['b']);
  });

  it('loses what is under way although it heals before the time of arrival', async () => {
    const { clock, server, store } = bench({}, { latencyMs: 50 });
    const outcome = failure(create(store, 'a'));
    await clock.advance(10);
    store.link.cutOff();
    await clock.advance(10);
    store.link.heal();
    await clock.advance(200);
    expect(await outcome).toBe('TIMEOUT unknown');
    expect(server.keys()).toEqual([]);
  });

  it('affects one client only', async () => {
    const { clock, server, store } = bench();
    store.link.cutOff();
    await create(server.connect(), 'a');
    await clock.advance(0);
    expect(server.keys()).toEqual(['a']);
  });
});

describe('a link that refuses', () => {
  it('fails new calls at once as notSent, and those under way as unknown', async () => {
    const { clock, store } = bench({}, { latencyMs: 10 });
    const underWay = failure(create(store, 'a'));
    store.link.refuse();
    expect(await underWay).toBe('CONNECTION_LOST unknown');
    expect(await failure(create(store, 'b'))).toBe('UNREACHABLE notSent');
    store.link.heal();
    await clock.run(create(store, 'c'));
    expect(store.server.keys()).toEqual(['c']);
  });
});

describe('a link that is reset', () => {
  it('fails calls under way as unknown, and serves the next call', async () => {
    const { clock, server, store } = bench({}, { latencyMs: 10 });
    const [before, applied] = [failure(create(store, 'a')), clock.advance(5)];
    await applied;
    store.link.reset();
    expect(await before).toBe('CONNECTION_LOST unknown');
    await clock.run(create(store, 'b'));
    expect(server.keys()).toEqual(['b']);
  });
});

describe('a link that is stalled', () => {
  it('delivers messages after heal, in order, to callers that still wait', async () => {
    const { clock, server, store } = bench();
    store.link.stall();
    const failed = failure(create(store, 'a'));
    await clock.advance(100);
    const waits = create(store, 'b');
    await clock.advance(50);
    expect(server.keys()).toEqual([]);
    store.link.heal();
    expect(server.keys()).toEqual(['a', 'b']);
    expect([await failed, (await waits).swapped]).toEqual(['TIMEOUT unknown', true]);
  });

  it('holds answers and events too', async () => {
    const { clock, server, store } = bench({}, { latencyMs: 10 });
    const states = follow(store.watch('a', { signal: new AbortController().signal }));
    await clock.advance(20);
    const swap = create(store, 'a');
    await clock.advance(15);
    store.link.stall();
    await clock.advance(50);
    expect([server.keys(), states.length]).toEqual([['a'], 1]);
    store.link.heal();
    expect((await swap).swapped).toBe(true);
    await clock.advance(0);
    expect(states).toHaveLength(2);
  });
});

describe('a link that is silent for watches', () => {
  it('serves calls; watches go stale after staleAfterMs', async () => {
    const { clock, store } = bench();
    const stale: number[] = [];
    const signal = new AbortController().signal;
    const states = follow(store.watch('a', { signal, onStale: () => stale.push(clock.monotonic()) }));
    await clock.advance(0);
    const from = clock.monotonic();
    store.link.stallWatches({ staleAfterMs: 500 });
    expect((await create(store, 'a')).swapped).toBe(true);
    await clock.advance(10_000);
    expect([states.length, stale]).toEqual([1, [from + 500]]);
    store.link.heal();
    await clock.advance(0);
    expect(states).toHaveLength(2);
  });

  it('never makes watches stale by default', async () => {
    const { clock, store } = bench();
    const stale: unknown[] = [];
    follow(store.watch('a', { signal: new AbortController().signal, onStale: (cause) => stale.push(cause) }));
    await clock.advance(0);
    store.link.stallWatches();
    await clock.advance(1_000_000);
    expect(stale).toEqual([]);
  });
});

describe('dropped messages', () => {
  it('an answer: the write is applied, and the call is unknown at its timeout', async () => {
    const { clock, server, store } = bench();
    store.link.dropReplies(1);
    const outcome = failure(create(store, 'a'));
    await clock.advance(99);
    expect(server.keys()).toEqual(['a']);
    await clock.advance(1);
    expect(await outcome).toBe('TIMEOUT unknown');
    expect((await create(store, 'b')).swapped).toBe(true);
  });

  it('an answer, with a reset: the write is applied, and the call is unknown at once', async () => {
    const { server, store } = bench();
    store.link.dropReplies(1, { how: 'reset' });
    expect(await failure(create(store, 'a'))).toBe('CONNECTION_LOST unknown');
    expect(server.keys()).toEqual(['a']);
  });

  it('a request: the write is not applied, and the call is unknown, at its timeout or at once', async () => {
    const { clock, server, store } = bench();
    store.link.dropRequests(1);
    const outcome = failure(create(store, 'a'));
    await clock.advance(100);
    expect(await outcome).toBe('TIMEOUT unknown');
    store.link.dropRequests(1, { how: 'reset' });
    expect(await failure(create(store, 'b'))).toBe('CONNECTION_LOST unknown');
    expect([server.keys(), server.requests.compareAndSwap]).toEqual([[], 0]);
  });

  it('only as many as the test has set, and only of the operations that it names', async () => {
    const { store } = bench();
    store.link.dropReplies(2, { how: 'reset', operations: ['compareAndSwap'] });
    expect(await store.read('a', call)).toBeUndefined();
    expect(await failure(create(store, 'a'))).toBe('CONNECTION_LOST unknown');
    expect(await store.list('a', call)).toEqual([]);
    expect(await failure(create(store, 'b'))).toBe('CONNECTION_LOST unknown');
    expect((await create(store, 'c')).swapped).toBe(true);
  });
});

describe('held writes', () => {
  it('are applied when they are released, long after the timeouts of their calls', async () => {
    const { clock, server, store } = bench();
    store.link.holdWrites();
    const outcome = failure(create(store, 'a'));
    await clock.advance(100);
    expect(await outcome).toBe('TIMEOUT unknown');
    expect(await store.read('a', call)).toBeUndefined();
    await clock.advance(60_000);
    store.link.release();
    expect(server.keys()).toEqual(['a']);
  });

  it('outlive a reset of the connection and the close of their client', async () => {
    const { clock, server, store } = bench();
    store.link.holdWrites();
    const outcome = failure(create(store, 'a'));
    await clock.advance(1);
    store.link.reset();
    expect(await outcome).toBe('CONNECTION_LOST unknown');
    await store.close();
    store.link.release();
    expect(server.keys()).toEqual(['a']);
  });

  it('are discarded when the server is closed', async () => {
    const { clock, server, store } = bench();
    store.link.holdWrites();
    const outcome = failure(store.grantLease(1_000, leaseCall(clock)));
    await clock.advance(0);
    await server.close();
    store.link.release();
    expect([await outcome, server.leases(), clock.timers]).toEqual(['STORE_CLOSED unknown', [], 0]);
  });

  it('are checked against the state at their release', async () => {
    const { clock, server, store } = bench();
    store.link.holdWrites();
    const late = create(store, 'a', 'late');
    await clock.advance(0);
    server.put('a', bytes('first'));
    store.link.release();
    expect((await late).swapped).toBe(false);
    expect(server.entries().map(text)).toEqual(['first']);
  });

  it('are only those of the operations that the test names', async () => {
    const { clock, server, store } = bench();
    const lease = await store.grantLease(1_000, leaseCall(clock));
    store.link.holdWrites('compareAndSwap');
    const held = create(store, 'a');
    await store.renewLease(lease.id, leaseCall(clock));
    await store.enqueue('q', 'name', bytes(''), lease.id, call);
    expect(server.keys()).toEqual(['q/name']);
    store.link.heal();
    expect((await held).swapped).toBe(true);
  });
});

describe('latency', () => {
  it('applies to the request and to the answer', async () => {
    const { clock, store } = bench({}, { latencyMs: 10 });
    let answeredAt = 0;
    const read = store.read('a', call).then(() => {
      answeredAt = clock.monotonic();
    });
    await clock.run(read);
    expect(answeredAt).toBe(20);
  });

  it('grows by delay(ms), until delay(0)', async () => {
    const { clock, store } = bench({}, { latencyMs: 10 });
    store.link.delay(40);
    expect(await clock.run(failure(store.read('a', { timeoutMs: 99 })))).toBe('TIMEOUT unknown');
    await clock.run(store.read('a', { timeoutMs: 101 }));
    store.link.delay(0);
    await clock.run(store.read('a', { timeoutMs: 21 }));
  });

  it('may be a function of the message; Infinity loses the message', async () => {
    const seen: string[] = [];
    const latencyMs = (message: { readonly kind: string; readonly operation?: string }): number => {
      seen.push(`${message.kind} ${message.operation ?? ''}`.trim());
      return message.kind === 'reply' ? Infinity : 1;
    };
    const { clock, server, store } = bench({}, { latencyMs });
    expect(await clock.run(failure(create(store, 'a')))).toBe('TIMEOUT unknown');
    expect(server.keys()).toEqual(['a']);
    expect(seen).toEqual(['request compareAndSwap', 'reply compareAndSwap']);
  });
});
