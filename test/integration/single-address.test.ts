/**
 * One address, as of a service or a load balancer, behind which the existing connections become
 * silent while new ones work. Nothing is reset, so nobody is notified. All timing is the default.
 */

import { ElectionObserver, Member, openStore, type Leadership, type Store } from 'incumbent';
import { requireStore, startProxy, until, type OwnServer, type Proxy } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consulHost, etcdHost, postgresHost, redisHost, zookeeperHost } from './checks/hosts.ts';
import { ELECTION, freshNamespace, WAIT_MS, storeUrl } from './checks/pair.ts';

/** Everything on the existing connections is lost from now on. New connections work. */
function silenceExisting(proxy: Proxy): void {
  proxy.blackhole();
  proxy.latency(0, { scope: 'new' });
}

/** Resolves once the leadership is valid at a moment that only a later renewal can have covered. */
async function renewed(leadership: Leadership): Promise<void> {
  const untilMs = performance.now() + leadership.remainingMs();
  const isOver = (): boolean => performance.now() > untilMs || !leadership.isValid();
  await until(isOver, { what: 'the deadline of before', withinMs: WAIT_MS });
  expect(leadership.isValid(), 'the leadership was renewed').toBe(true);
}

const hosts = [zookeeperHost, redisHost, postgresHost, consulHost, etcdHost];

describe.each(hosts)('behind one address of $store', { timeout: 4 * WAIT_MS }, async (host) => {
  const isThere = await requireStore({ store: host.store, own: true });
  let server: OwnServer;

  beforeAll(async () => {
    if (isThere) server = await host.start();
  });
  afterAll(() => server?.stop());

  const acceptWeakStore = host.store === 'redis' ? { acceptWeakStore: 'redis' } : {};
  const openAt = (url: string, namespace: string): Promise<Store> => openStore(storeUrl([url], namespace, host.store));

  /**
   * A store behind a proxy, which is the one address, and a store beside the proxy, both on one
   * namespace.
   */
  async function openBoth(): Promise<{ readonly proxy: Proxy; readonly store: Store; readonly direct: Store } & AsyncDisposable> {
    const namespace = freshNamespace();
    await using opened = new AsyncDisposableStack();
    const proxy = opened.use(await startProxy(server.url));
    const [store, direct] = [opened.use(await openAt(proxy.url, namespace)), opened.use(await openAt(server.url, namespace))];
    const kept = opened.move();
    return { proxy, store, direct, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  it.runIf(isThere)('a leader whose connections go silent leads on, and its observers see the next leader', async () => {
    await using both = await openBoth();
    const { proxy, store, direct } = both;
    await using a = new Member(store, { memberId: 'a' });
    await using b = new Member(direct, { memberId: 'b' });
    await using observer = new ElectionObserver(store, ELECTION);
    const leadership = await a.election(ELECTION, acceptWeakStore).campaign();
    const next = b.election(ELECTION, acceptWeakStore).campaign();
    next.catch(() => {});
    const shows = (memberId: string): Promise<unknown> => {
      const isShown = (): boolean => observer.current.state === 'leader' && observer.current.memberId === memberId;
      return until(isShown, { what: `the observer to show ${memberId}`, withinMs: WAIT_MS });
    };
    await shows('a');
    const { opened } = proxy.stats().connections;
    silenceExisting(proxy);
    await renewed(leadership);
    expect(proxy.stats().connections.opened).toBeGreaterThan(opened);
    await leadership.resign();
    expect((await next).term).toBeGreaterThan(leadership.term);
    await shows('b');
  });

  it.runIf(isThere)('a candidate whose connections go silent leads once the leader has resigned', async () => {
    await using both = await openBoth();
    const { proxy, store, direct } = both;
    await using a = new Member(direct, { memberId: 'a' });
    await using b = new Member(store, { memberId: 'b' });
    const [first, second] = [a, b].map((member) => member.election(ELECTION, acceptWeakStore));
    const leadership = await first!.campaign();
    const next = second!.campaign();
    next.catch(() => {});
    const isQueued = async (): Promise<boolean> => (await first!.candidates()).length === 2;
    await until(isQueued, { what: 'b is in the queue', withinMs: WAIT_MS });
    silenceExisting(proxy);
    await leadership.resign();
    const elected = await until(() => second!.leadership, { what: 'b leads', withinMs: WAIT_MS });
    expect(elected.isValid()).toBe(true);
    expect(await next).toBe(elected);
  });
});
