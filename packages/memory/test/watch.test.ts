import type { Entry, StoreError } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { bench, bytes, create, follow, text } from './support.ts';

describe('a watch', () => {
  it('opens one watch on the server, and counts as no request', async () => {
    const { clock, server, store } = bench();
    const stop = new AbortController();
    follow(store.watch('a', { signal: stop.signal }));
    await clock.advance(0);
    expect(Object.values(server.requests)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(server.watches).toEqual({ opened: 1, open: 1 });
    stop.abort();
    await clock.advance(0);
    expect(server.watches).toEqual({ opened: 1, open: 0 });
  });

  it('opens nothing before it is asked for a state', async () => {
    const { clock, server, store } = bench();
    store.watch('a', { signal: new AbortController().signal });
    await clock.advance(0);
    expect(server.watches.opened).toBe(0);
  });

  it('goes stale once for each outage, and shows the state again after it', async () => {
    const { clock, store } = bench();
    const stale: StoreError[] = [];
    const states = follow(store.watch('a', { signal: new AbortController().signal, onStale: (cause) => stale.push(cause) }));
    await clock.advance(0);
    store.link.cutOff();
    store.link.refuse();
    await clock.advance(1_000);
    expect([stale.map((cause) => cause.code), states.length]).toEqual([['CONNECTION_LOST'], 1]);
    store.link.heal();
    await clock.advance(0);
    expect(states).toEqual([undefined, undefined]);
    store.link.reset();
    await clock.advance(0);
    expect([stale.length, states.length]).toEqual([2, 3]);
  });

  it('that is stale does not show a state from before the outage', async () => {
    const { clock, server, store } = bench();
    const watch = store.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    await watch.next();
    server.put('a', bytes('before'));
    await clock.advance(0);
    store.link.cutOff();
    let isShown = false;
    const next = watch.next().finally(() => {
      isShown = true;
    });
    await clock.advance(1_000);
    expect(isShown).toBe(false);
    server.put('a', bytes('after'));
    store.link.heal();
    expect(text((await next).value as Entry)).toBe('after');
  });

  it('that begins on a refused link calls onStale, and shows the state when the link is healed', async () => {
    const { clock, store } = bench();
    const stale: string[] = [];
    store.link.refuse();
    const states = follow(store.watch('a', { signal: new AbortController().signal, onStale: (cause) => stale.push(cause.code) }));
    await clock.advance(1_000);
    expect([stale, states]).toEqual([['UNREACHABLE'], []]);
    store.link.heal();
    await clock.advance(0);
    expect(states).toEqual([undefined]);
  });

  it('whose messages are lost begins again until a message arrives', async () => {
    let lost = 3;
    const latencyMs = ({ kind }: { readonly kind: string }): number =>
      (kind === 'watch' || kind === 'event') && lost-- > 0 ? Infinity : 0;
    const { clock, server, store } = bench({}, { latencyMs });
    const stale: string[] = [];
    const states = follow(store.watch('a', { signal: new AbortController().signal, onStale: (cause) => stale.push(cause.code) }));
    await clock.advance(299);
    expect(states).toEqual([]);
    await clock.advance(1);
    expect([states, stale, server.watches.open]).toEqual([[undefined], ['CONNECTION_LOST'], 1]);
    await store.close();
    expect(clock.timers).toBe(0);
  });

  it('does not show an older state that arrives after a newer one', async () => {
    const latencies = [0, 0, 50, 10];
    const latencyMs = ({ kind }: { readonly kind: string }): number =>
      kind === 'request' || kind === 'reply' ? 0 : (latencies.shift() ?? 0);
    const { clock, server, store } = bench({}, { latencyMs });
    const states = follow(store.watch('a', { signal: new AbortController().signal }));
    await clock.advance(0);
    server.put('a', bytes('slow'));
    server.put('a', bytes('quick'));
    await clock.advance(100);
    expect(states.map(text)).toEqual([undefined, 'quick']);
  });

  it('shows the changes that a test makes as an operator', async () => {
    const { clock, server, store } = bench({}, { namespace: 'app' });
    const states = follow(store.watchList('q', { signal: new AbortController().signal }));
    await clock.advance(0);
    await create(store, 'q/a');
    server.put('app/q/b', bytes(''));
    await clock.advance(0);
    server.deleteKey('app/q/a');
    await clock.advance(0);
    expect(states.map((entries) => entries.map((entry) => entry.key).join(' '))).toEqual(['', 'q/a', 'q/a q/b', 'q/b']);
  });
});
