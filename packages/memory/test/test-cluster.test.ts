import { type Clock, Member, type Random } from '@incumbent/core';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { TestCluster } from '../src/index.ts';

const TTL_MS = 10_000;

async function pair() {
  const cluster = new TestCluster();
  const [a, b] = [cluster.member('a', { ttlMs: TTL_MS }), cluster.member('b', { ttlMs: TTL_MS })];
  const first = await cluster.run(a.election('jobs').campaign());
  const second = b.election('jobs').campaign();
  await cluster.advance(100);
  return { cluster, a, b, first, second };
}

function expectNothingLeft({ clock, server }: TestCluster): void {
  expect([clock.timers, clock.holds, server.clients, server.watches.open]).toEqual([0, 0, 0, 0]);
}

describe('a cluster for tests', () => {
  it('elects the next one when the lease of the leader ends', async () => {
    const { cluster, a, first, second } = await pair();
    cluster.expireLease(a);
    await cluster.advance(0);
    expect(first.isValid()).toBe(false);
    expect(await first.ended).toMatchObject({ lost: true });
    expect(await cluster.run(second)).toMatchObject({ memberId: 'b', term: first.term + 1n });
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('cuts a process off: it stops being leader before another leads; and heals it', async () => {
    const { cluster, a, first, second } = await pair();
    cluster.cutOff(a);
    let elected = false;
    void second.then(() => {
      elected = true;
    });
    while (first.isValid()) {
      expect(elected).toBe(false);
      await cluster.advance(10);
    }
    await cluster.run(second);
    cluster.heal('a');
    const again = a.election('jobs').campaign();
    await cluster.advance(100);
    await (await second).resign();
    expect(await cluster.run(again)).toMatchObject({ term: first.term + 2n });
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('pauses a process: none of its code runs, and its leadership is not valid when it resumes', async () => {
    const { cluster, a, first, second } = await pair();
    let told = false;
    first.signal.addEventListener('abort', () => {
      told = true;
    });
    cluster.pause(a);
    await cluster.run(second);
    expect(told).toBe(false);
    cluster.resume(a);
    expect(first.isValid()).toBe(false);
    await cluster.advance(0);
    expect(told).toBe(true);
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('resumes a process that is cut off: the network stays cut until it heals', async () => {
    const { cluster, a, first, second } = await pair();
    cluster.cutOff(a);
    cluster.pause(a);
    await cluster.advance(1_000);
    cluster.resume(a);
    await cluster.run(second);
    expect(first.isValid()).toBe(false);
    const again = a.election('jobs').campaign();
    await cluster.advance(2 * TTL_MS);
    expect(cluster.server.keys().filter((key) => key === 'members/a')).toEqual([]);
    cluster.heal(a);
    await cluster.advance(TTL_MS);
    await (await second).resign();
    expect(await cluster.run(again)).toMatchObject({ term: first.term + 2n });
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('heals the network of a process that is paused: no message reaches it before it resumes', async () => {
    const { cluster, a, first } = await pair();
    let told = false;
    first.signal.addEventListener('abort', () => {
      told = true;
    });
    cluster.pause(a);
    cluster.cutOff(a);
    cluster.heal(a);
    cluster.expireLease(a);
    await cluster.advance(TTL_MS / 2);
    expect(told).toBe(false);
    cluster.resume(a);
    await cluster.advance(0);
    expect(told).toBe(true);
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('crashes a process for good, and starts another under its name', async () => {
    const { cluster, a, first, second } = await pair();
    cluster.crash(a);
    const restarted = cluster.member('a', { ttlMs: TTL_MS });
    expect(restarted.incarnation).not.toBe(a.incarnation);
    expect(await cluster.run(second)).toMatchObject({ memberId: 'b' });
    const third = restarted.election('jobs').campaign();
    await cluster.run((await second).resign());
    expect(await cluster.run(third)).toMatchObject({ memberId: 'a', term: first.term + 2n });
  });

  it('shows an observer what a test does', async () => {
    const { cluster, b, first, second } = await pair();
    const observer = cluster.observer('jobs');
    await cluster.run(observer.ready);
    expect(observer.current).toMatchObject({ state: 'leader', memberId: 'a' });
    cluster.cutOff('observer-1');
    await cluster.run(first.handover('b'));
    await cluster.run(second);
    expect(observer.current.state).toBe('unknown');
    cluster.heal('observer-1');
    await cluster.advance(1_000);
    expect(observer.current).toMatchObject({ state: 'leader', memberId: b.memberId });
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('offers finer faults through the link of the store of a process', async () => {
    const { cluster, a, second } = await pair();
    cluster.process('a').store.link.dropReplies(1, { operations: ['compareAndSwap'] });
    await cluster.run(a.shutdown());
    expect(await cluster.run(second)).toMatchObject({ memberId: 'b' });
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('gives code that creates its own members a store and options of a process', async () => {
    const cluster = new TestCluster();
    const { store, options } = cluster.process('a');
    const member = new Member(store, { ...options, ttlMs: TTL_MS });
    await cluster.run(member.election('jobs').campaign());
    cluster.expireLease('a');
    await cluster.advance(0);
    expect(member.election('jobs').leadership).toBeUndefined();
    await cluster.run(member.close());
    await cluster.close();
    expectNothingLeft(cluster);
  });

  it('gives the clock and the random numbers of a process to other code that takes them', async () => {
    await using cluster = new TestCluster();
    const { options } = cluster.process('a');
    const settings: { readonly clock?: Clock; readonly random?: Random } = options;
    const { clock, random } = options;
    expectTypeOf(options.memberId).toEqualTypeOf<string>();
    expect(settings).toMatchObject({ clock, random });
    const fired: number[] = [];
    clock.schedule(1_000, () => fired.push(clock.monotonic()));
    await cluster.advance(1_000);
    expect(fired).toEqual([1_000]);
  });

  it('is the same in every run', async () => {
    const run = async (): Promise<readonly unknown[]> => {
      const { cluster, a, b, second } = await pair();
      cluster.cutOff(a);
      await cluster.run(second);
      const atMs = cluster.clock.monotonic();
      await cluster.close();
      return [b.incarnation, atMs, cluster.server.requests];
    };
    expect(await run()).toEqual(await run());
  });

  it('refuses an unknown process, and names the ones that it has', async () => {
    await using cluster = new TestCluster();
    cluster.member('a');
    for (const act of ['cutOff', 'heal', 'pause', 'resume', 'crash'] as const)
      expect(() => cluster[act]('b')).toThrow('process is "b": it must be one of a');
    expect(() => cluster.expireLease('a')).toThrow(RangeError);
    await expect(cluster.run(new Promise(() => {}))).rejects.toThrow('nothing is scheduled');
  });
});
