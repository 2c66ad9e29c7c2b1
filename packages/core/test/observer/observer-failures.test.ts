/** What an observer shows while reads fail or are late. */

import { MemoryServer } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { ElectionObserver } from '../../src/index.ts';
import { relay, timeout } from '../support/relay.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

describe('an observer', () => {
  it('is not called unready for ever because one read had no answer in time', async () => {
    const world = new World();
    const link = world.connect();
    link.link.dropReplies(1, { operations: ['read'] });
    const observer = new ElectionObserver(link, NAME, { clock: world.clock });
    await expect(world.run(observer.ready)).resolves.toBeUndefined();
    await world.run(observer.close());
  });

  it('tells a resignation from an expiry although the next leader follows at once', async () => {
    const world = new World();
    const leader = await world.elect(world.member('a'));
    const asB = world.member('b').election(NAME).campaign();
    await world.until(() => world.queue().includes('b'));
    const observer = new ElectionObserver(world.connect({ latencyMs: 5 }), NAME, { clock: world.clock });
    await world.run(observer.ready);
    const seen: unknown[] = [];
    observer.subscribe((view) =>
      seen.push(
        view.state === 'vacant' ? `vacant ${view.term}: ${view.reason}` : view.state === 'leader' ? `leader ${view.term}` : view.state,
      ),
    );
    await world.run(leader.resign());
    await world.run(asB);
    await world.pass(100);
    expect(seen).not.toContain('vacant 2: expired');
    await world.run(observer.close());
  });

  it('does not show as known what came of a read while its watch had gone stale', async () => {
    const world = new World();
    const link = world.connect();
    const leader = await world.elect(world.member('a'));
    let stale: (() => void) | undefined;
    const slow = Promise.withResolvers<void>();
    const store = relay(link, {
      watch: (key, options) => {
        stale = () => options?.onStale?.(timeout());
        return link.watch(key, options);
      },
      read: async (...call) => {
        const entry = await link.read(...call);
        await slow.promise;
        return entry;
      },
    });
    const observer = new ElectionObserver(store, NAME, { clock: world.clock });
    await world.run(observer.ready);
    await world.run(leader.resign());
    await world.pass(10);
    stale?.();
    slow.resolve();
    await world.pass(10);
    expect(observer.current.state).toBe('unknown');
    await world.run(observer.close());
  });

  it('says since when nothing was confirmed, however often the store fails after that', async () => {
    const world = new World();
    const link = world.connect();
    let failing = false;
    const store = relay(link, {
      read: async (...call) => {
        if (failing) throw timeout();
        return link.read(...call);
      },
    });
    const leader = await world.elect(world.member('a'));
    const observer = new ElectionObserver(store, NAME, { clock: world.clock });
    await world.run(observer.ready);
    failing = true;
    await world.run(leader.resign());
    await world.until(() => observer.current.state === 'unknown');
    const { current } = observer;
    await world.pass(20 * TTL_MS);
    expect(observer.current).toMatchObject({ state: 'unknown', since: current.state === 'unknown' ? current.since : undefined });
    failing = false;
    await world.pass(40_000);
    expect(observer.current).toMatchObject({ state: 'vacant', reason: 'resigned' });
    await world.run(observer.close());
    await world.close();
  });

  it('shows the leader of a new store in which the same term was issued at the same revision', async () => {
    const world = new World();
    const [before, after] = [world.connect(), new MemoryServer({ clock: world.clock }).connect()];
    let [present, over] = [before, new AbortController()];
    const store = relay(before, {
      read: (...call) => present.read(...call),
      async *watch(key, options = {}) {
        while (options.signal?.aborted !== true)
          yield* present.watch(key, { ...options, signal: AbortSignal.any([over.signal, ...(options.signal ? [options.signal] : [])]) });
      },
    });
    await world.elect(world.member('a'));
    await world.elect(world.member('b', {}, after));
    const [former, newer] = await world.run(Promise.all([before.read(LEADER), after.read(LEADER)]));
    expect(former?.revision).toBe(newer?.revision);
    const observer = new ElectionObserver(store, NAME, { clock: world.clock });
    await world.run(observer.ready);
    expect(observer.current).toMatchObject({ state: 'leader', memberId: 'a' });
    present = after;
    over.abort();
    over = new AbortController();
    await world.pass(100);
    expect(observer.current).toMatchObject({ state: 'leader', memberId: 'b' });
    await world.run(observer.close());
    await world.close();
  });
});
