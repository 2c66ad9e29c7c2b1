/** Waits without an end, loops without a pause, and promises that settle with somebody else's answer. */

import { describe, expect, it } from 'vitest';
import { byPriority, ElectionObserver, StoreError, type Change } from '../../src/index.ts';
import { denied, instead, LEADER, NAME, quiet, Scene, TERM, timeout, TTL_MS } from './scene.ts';

describe('a campaign', () => {
  it('that is aborted while the store refuses at once does not keep the event loop busy', async () => {
    const scene = new Scene();
    const link = scene.connect();
    await scene.elect(scene.member('a'));
    let refusing = false;
    let refused = 0;
    const store = instead(link, {
      compareAndSwap: async (changes, options) => {
        if (!refusing) return link.compareAndSwap(changes, options);
        refused += 1;
        // Without this the test would never end: no timer, and so no deadline, comes between two tries.
        if (refused > 1_000) return new Promise(() => {});
        throw new StoreError('UNREACHABLE', 'notSent', 'nobody is there');
      },
    });
    const giveUp = new AbortController();
    void quiet(scene.member('b', store).election(NAME).campaign({ signal: giveUp.signal }));
    await scene.until(() => scene.queue.length === 2);
    await scene.pass(50);
    refusing = true;
    giveUp.abort();
    await scene.pass(TTL_MS / 2);
    expect(refused).toBeLessThan(100);
  });

  it('of a restarted process goes on although its link was cut while it waited for its former self', async () => {
    const scene = new Scene();
    const former = scene.connect();
    await scene.elect(scene.member('a', former));
    former.link.cutOff();
    const link = scene.connect();
    const campaign = quiet(scene.member('a', link).election(NAME).campaign());
    await scene.pass(50);
    link.link.cutOff();
    await scene.pass(3 * TTL_MS);
    expect(scene.server.leases()).toEqual([]);
    link.link.heal();
    await expect(scene.run(campaign)).resolves.toMatchObject({ memberId: 'a' });
  });

  it("does not reject with the reason of an earlier one's abort", async () => {
    const scene = new Scene();
    await scene.run(scene.member('a').group('g').join());
    const a = scene.member('a', scene.connect(20));
    const election = a.election(NAME);
    const giveUp = new AbortController();
    const first = quiet(election.campaign({ signal: giveUp.signal }));
    // Waits for the other process of this member id.
    await scene.pass(200);
    giveUp.abort(new Error('the first one was given up'));
    await expect(scene.run(first)).rejects.toThrow('the first one was given up');
    await expect(scene.run(election.campaign())).rejects.toMatchObject({ code: 'DUPLICATE_MEMBER' });
  });

  it("of another election does not reject with the reason of this one's abort", async () => {
    const scene = new Scene();
    const link = scene.connect(20);
    const a = scene.member('a', link);
    const giveUp = new AbortController();
    const first = quiet(a.election('one').campaign({ signal: giveUp.signal }));
    await scene.pass(50);
    giveUp.abort(new Error('the first one was given up'));
    await expect(scene.run(first)).rejects.toThrow('the first one was given up');
    await expect(scene.run(a.election('two').campaign())).resolves.toMatchObject({ memberId: 'a' });
  });

  it('does not read without a pause when the term key is gone while it confirms its claim', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const store = instead(link, {
      compareAndSwap: async (changes: readonly Change[], options) => {
        const result = await link.compareAndSwap(changes, options);
        if (changes[0]?.key !== LEADER) return result;
        scene.server.deleteKey(TERM);
        throw timeout();
      },
    });
    void quiet(scene.member('a', store).election(NAME).campaign());
    await scene.until(() => scene.entry(LEADER) !== undefined);
    const before = scene.server.requests.read;
    await scene.pass(10 * TTL_MS);
    expect(scene.server.requests.read - before).toBeLessThan(1_000);
  });

  it('rejects on a store that grants leases too short to lead by, instead of asking for ever', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const store = instead(link, { grantLease: (_ttlMs, options) => link.grantLease(TTL_MS / 10, options) });
    const campaign = quiet(scene.member('a', store).election(NAME).campaign());
    expect(await scene.settles(campaign, 50 * TTL_MS)).toBe(true);
  });
});

describe('close', () => {
  it('leaves no timer, whatever moment of an election it comes at', async () => {
    const left: number[] = [];
    for (let at = 200; at <= 500; at += 10) {
      const scene = new Scene();
      const a = scene.member('a', scene.connect(50), { callTimeoutMs: 400 });
      void quiet(a.election(NAME, { succession: byPriority(1, { rebalance: true }) }).campaign());
      await scene.pass(at);
      await scene.run(a.close());
      if (scene.clock.timers > 0) left.push(at);
    }
    expect(left).toEqual([]);
  });

  it('leaves no call of a crowded semaphore for later', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const a = scene.member('a', link);
    await scene.run(a.group('g').join());
    link.link.dropRequests(1_000_000, { verbs: ['enqueue'] });
    let calls = 0;
    const counted = instead(link, {
      enqueue: (...call) => {
        calls += 1;
        return link.enqueue(...call);
      },
    });
    const b = scene.member('b', counted);
    for (let i = 0; i < 200; i += 1) void quiet(b.election(`e${i}`).campaign());
    await scene.pass(50);
    await scene.run(b.close());
    const before = calls;
    await scene.pass(20 * TTL_MS);
    expect(calls - before).toBe(0);
  });
});

describe('an observer', () => {
  it('says that it is not ready when its store is closed, instead of nothing', async () => {
    const scene = new Scene();
    const store = scene.connect();
    await store.close();
    const observer = new ElectionObserver(store, NAME, { clock: scene.clock });
    expect(await scene.settles(quiet(observer.ready), 100_000)).toBe(true);
  });

  it('is not called unready for ever because one read had no answer in time', async () => {
    const scene = new Scene();
    const link = scene.connect();
    link.link.dropReplies(1, { verbs: ['read'] });
    const observer = new ElectionObserver(link, NAME, { clock: scene.clock });
    await expect(scene.run(observer.ready)).resolves.toBeUndefined();
    await scene.run(observer.close());
  });

  it('tells a resignation from an expiry although the next leader follows at once', async () => {
    const scene = new Scene();
    const leader = await scene.elect(scene.member('a'));
    const asB = scene.member('b').election(NAME).campaign();
    await scene.until(() => scene.queue.includes('b'));
    const observer = new ElectionObserver(scene.connect(5), NAME, { clock: scene.clock });
    await scene.run(observer.ready);
    const seen: unknown[] = [];
    observer.subscribe((view) =>
      seen.push(
        view.state === 'vacant' ? `vacant ${view.term}: ${view.reason}` : view.state === 'leader' ? `leader ${view.term}` : view.state,
      ),
    );
    await scene.run(leader.resign());
    await scene.run(asB);
    await scene.pass(100);
    expect(seen).not.toContain('vacant 2: expired');
    await scene.run(observer.close());
  });

  it('does not show as known what came of a read while its watch had gone stale', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const leader = await scene.elect(scene.member('a'));
    let stale: (() => void) | undefined;
    const slow = Promise.withResolvers<void>();
    const store = instead(link, {
      watch: (key, options) => {
        stale = () => options.onStale?.(timeout());
        return link.watch(key, options);
      },
      read: async (...call) => {
        const entry = await link.read(...call);
        await slow.promise;
        return entry;
      },
    });
    const observer = new ElectionObserver(store, NAME, { clock: scene.clock });
    await scene.run(observer.ready);
    await scene.run(leader.resign());
    await scene.pass(10);
    stale?.();
    slow.resolve();
    await scene.pass(10);
    expect(observer.current.state).toBe('unknown');
    await scene.run(observer.close());
  });
});

describe('a group', () => {
  it('that was left does not keep the member because its join was applied late', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const a = scene.member('a', link);
    await scene.run(a.group('other').join());
    link.link.holdWrites('compareAndSwap');
    const group = a.group('g');
    const joining = quiet(group.join());
    await scene.pass(TTL_MS / 2);
    await scene.run(group.leave());
    link.link.release();
    await scene.settles(joining, 20 * TTL_MS);
    expect(await scene.run(group.members())).toEqual([]);
  });

  it('is left although the first try to leave has no answer', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const a = scene.member('a', link);
    const group = a.group('g');
    await scene.run(group.join());
    link.link.dropRequests(1, { verbs: ['compareAndSwap'] });
    await scene.run(group.leave());
    await scene.pass(20 * TTL_MS);
    expect(await scene.run(group.members())).toEqual([]);
  });

  it('can be joined after a join that was refused', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let refusing = true;
    const store = instead(link, {
      read: async (...call) => {
        if (refusing) throw denied();
        return link.read(...call);
      },
    });
    const group = scene.member('a', store).group('g');
    await expect(scene.run(group.join())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    refusing = false;
    await expect(scene.run(group.join())).resolves.toBeUndefined();
  });

  it('does not call joined a member that has fallen out of it', async () => {
    const scene = new Scene();
    const link = scene.connect();
    async function* failing(): AsyncGenerator<never, void, undefined> {
      throw denied();
    }
    let broken = true;
    const store = instead(link, { watch: (key, options) => (broken && key.startsWith('groups/') ? failing() : link.watch(key, options)) });
    const group = scene.member('a', store).group('g');
    await scene.run(group.join());
    await scene.pass(10);
    broken = false;
    scene.server.deleteKey('groups/g/a');
    await scene.run(group.join());
    expect(await scene.run(group.members())).toHaveLength(1);
  });

  it('is seen again after one record in it could not be read', async () => {
    const scene = new Scene();
    const a = scene.member('a');
    const group = a.group('g');
    let seen: readonly string[] = [];
    group.subscribe((members) => {
      seen = members.map(({ memberId }) => memberId);
    });
    scene.server.put('groups/g/x', new TextEncoder().encode('hello'));
    await scene.pass(10);
    scene.server.deleteKey('groups/g/x');
    await scene.run(group.join());
    await scene.pass(100 * TTL_MS);
    expect(seen).toEqual(['a']);
  });
});
