/** The requests and the time that the end of a leader costs. */

import { Member, type Leadership, type Store } from '@incumbent/core';
import { requireStore, startProxy, startRedis, uniqueNamespace, until, type Proxy, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';

const NAME = 'controller';
const OPTIONS = { acceptWeakStore: 'redis' } as const;
const CALL = { timeoutMs: 5_000 };
const WITHIN_MS = 20_000;
/** The most candidates that watch the leader's lease, whatever the number of candidates. */
const WATCHING = 9;

function standStill(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
}

describe.runIf(await requireStore({ store: 'redis', own: true }))('a failover on redis', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  const open = (namespace: string, url: string = server.url): Promise<Store> => openRedis({ endpoints: [new URL(url).host], namespace });

  /** How many scripts the server has run: every call of a store is one. */
  async function scriptsRun(): Promise<number> {
    const stats = await server.ctl(['info', 'commandstats']);
    const calls = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].map(([, count]) => Number(count));
    return calls.reduce((sum, count) => sum + count, 0);
  }

  /** Reads the time that a lease has left without running a script. */
  async function leftMs(namespace: string, lease: string): Promise<number> {
    return Number(await server.ctl(['pttl', `{${namespace}}:lease:${lease}`]));
  }

  /**
   * A leader that can be cut off, and candidates behind it, each on its own store or all on one.
   */
  async function inARow(count: number, { shared = false, ttlMs = 2_000 } = {}) {
    const namespace = uniqueNamespace();
    await using resources = new AsyncDisposableStack();
    const proxy: Proxy = await startProxy(server.url);
    resources.defer(() => proxy.close());
    const leader = resources.use(new Member(resources.use(await open(namespace, proxy.url)), { memberId: 'leader', ttlMs }));
    const first = await leader.election(NAME, OPTIONS).campaign();
    const one = shared ? resources.use(await open(namespace)) : undefined;
    const observer = one ?? resources.use(await open(namespace));
    const elected: { readonly leadership: Leadership; readonly at: number; readonly scripts: Promise<number> }[] = [];
    const caller = new AbortController();
    for (let i = 0; i < count; i += 1) {
      const store = one ?? resources.use(await open(namespace));
      // A long ttl, so that renewals do not count.
      const member = resources.use(new Member(store, { memberId: `m${i}`, ttlMs: 60_000 }));
      member
        .election(NAME, OPTIONS)
        .campaign({ signal: caller.signal })
        .then(
          (leadership) => elected.push({ leadership, at: performance.now(), scripts: scriptsRun() }),
          () => {},
        );
      const candidates = async (): Promise<boolean> =>
        (await observer.list(`elections/${NAME}/candidates`, { ...CALL, values: false })).length === i + 2;
      await until(candidates, { what: 'it has joined', withinMs: WITHIN_MS });
    }
    const lease = (await observer.read(`elections/${NAME}/leader`, CALL))?.lease ?? '';
    const rest = resources.move();
    return {
      ...{ namespace, proxy, first, elected, lease },
      [Symbol.asyncDispose]: async () => {
        caller.abort(new Error('enough'));
        proxy.reset();
        await rest.disposeAsync();
      },
    };
  }

  it('follows the death of its leader at the end of its ttl', async () => {
    await using row = await inARow(2);
    const cutAt = performance.now();
    row.proxy.blackhole();
    const next = await until(() => row.elected[0], { what: 'somebody is elected', withinMs: WITHIN_MS });
    // A generous bound: the machine may be busy.
    expect(next.at - cutAt).toBeLessThan(5_000);
    expect(next.leadership.memberId).toBe('m0');
    expect(row.first.isValid()).toBe(false);
  });

  it.each([
    [1, false],
    [20, false],
    [99, true],
  ])(
    'costs few requests with %i candidates (on one store: %j): one for each watch of the lease, a read, a claim',
    async (count, shared) => {
      await using row = await inARow(count, { shared });
      // Its renewals end; the last was acknowledged before.
      row.proxy.blackhole();
      await until(async () => (await leftMs(row.namespace, row.lease)) < 150, { what: 'its lease is nearly over', withinMs: WITHIN_MS });
      const before = await scriptsRun();
      // The worst case: all watches of the lease ask for it at the same moment, as after a pause of
      // the process.
      standStill(300);
      const next = await until(() => row.elected[0], { what: 'somebody is elected', withinMs: WITHIN_MS });
      const requests = (await next.scripts) - before;
      expect(next.leadership.memberId).toBe('m0');
      // Two of them are the first reads of the new leader.
      expect(requests).toBeLessThanOrEqual((shared ? 1 : Math.min(count, WATCHING)) + 4);
    },
  );

  it('wakes only the next candidate', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await using leader = new Member(store, { memberId: 'leader', ttlMs: 60_000 });
    const first = await leader.election(NAME, OPTIONS).campaign();
    const caller = new AbortController();
    await using others = new AsyncDisposableStack();
    for (let i = 0; i < 30; i += 1) {
      const member = others.use(new Member(others.use(await open(namespace)), { memberId: `m${i}`, ttlMs: 60_000 }));
      member
        .election(NAME, OPTIONS)
        .campaign({ signal: caller.signal })
        .catch(() => {});
      await until(async () => (await leader.election(NAME).candidates()).length === i + 2, { what: 'it has joined', withinMs: WITHIN_MS });
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
    const before = await scriptsRun();
    await first.resign();
    await new Promise((resolve) => setTimeout(resolve, 500));
    // The resignation, a read, a claim, and the first reads of the new leader.
    const requests = (await scriptsRun()) - before;
    expect(requests).toBeLessThanOrEqual(8);
    caller.abort(new Error('enough'));
  });

  it('is not needed for 1,000 elections on one lease', { timeout: 60_000 }, async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await using member = new Member(store, { memberId: 'many', ttlMs: 10_000 });
    const names = Array.from({ length: 1_000 }, (_, i) => `e${i}`);
    const led = await Promise.all(names.map((name) => member.election(name, OPTIONS).campaign()));
    expect(led.every((leadership) => leadership.isValid())).toBe(true);
    expect((await server.ctl(['--scan', '--pattern', `{${namespace}}:lease:*`])).trim().split('\n')).toHaveLength(1);
  });
});
