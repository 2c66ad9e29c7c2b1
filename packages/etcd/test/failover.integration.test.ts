/** Members of a cluster that refuse, are silent, die, or have lost the others. */

import { connect } from 'node:net';

import { isIncumbentError, type Entry, type Store } from '@incumbent/core';
import { openEtcd, type EtcdOptions } from '@incumbent/etcd';
import {
  type EtcdCluster,
  type EtcdClusterServer,
  freePort,
  hostOf,
  type Proxy,
  requireStore,
  startEtcdCluster,
  startProxy,
  until,
} from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const options = { timeoutMs: 1_000 };
const KEEPALIVE = { intervalMs: 6_000, timeoutMs: 500 };

describe.runIf(await requireStore({ store: 'etcd', own: true }))('a cluster of three members', () => {
  let cluster: EtcdCluster;
  const stores: Store[] = [];
  const proxies: Proxy[] = [];

  beforeAll(async () => {
    cluster = await startEtcdCluster({ size: 3 });
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    for (const server of cluster.servers) await server.resume();
  });
  afterAll(() => cluster.stop());

  async function open(endpoints: readonly string[], more: Partial<EtcdOptions> = {}): Promise<Store> {
    const store = await openEtcd({ endpoints, namespace: 'failover', keepalive: KEEPALIVE, ...more });
    stores.push(store);
    return store;
  }

  /** A store that has begun with this member, which is chosen by chance, and knows the others. */
  async function openOn(host: string, others: readonly string[]): Promise<Store> {
    for (;;) {
      const used: string[] = [];
      const store = await open([host, ...others], {
        connect: (endpoint) => {
          used.push(`${endpoint.host}:${endpoint.port}`);
          return connect({ ...endpoint, noDelay: true });
        },
      });
      if (used[0] === host) return store;
    }
  }

  async function proxyTo(server: EtcdClusterServer | undefined): Promise<Proxy> {
    const proxy = await startProxy(server?.url ?? '');
    proxies.push(proxy);
    return proxy;
  }

  /** Writes once; the code of the error if it fails. */
  async function write(store: Store, key: string): Promise<string | undefined> {
    try {
      const current = await store.read(key, options);
      await store.compareAndSwap([{ key, expect: current?.revision ?? null, put: new Uint8Array([1]) }], options);
      return undefined;
    } catch (error) {
      return isIncumbentError(error) ? error.code : String(error);
    }
  }

  async function failuresOf(store: Store, calls: number): Promise<number> {
    let failures = 0;
    for (let i = 0; i < calls; i += 1) if ((await write(store, 'a')) !== undefined) failures += 1;
    return failures;
  }

  const hosts = (): string[] => cluster.endpoints.map(hostOf);

  it('fails no call because a member refuses connections', async () => {
    const none = `localhost:${await freePort()}`;
    for (let i = 0; i < 5; i += 1) expect(await failuresOf(await open([none, ...hosts()]), 20)).toBe(0);
  });

  it('fails no call because a member accepts connections and is silent, and does not wait for it each time', async () => {
    const proxy = await proxyTo(cluster.servers[0]);
    proxy.blackhole();
    for (let i = 0; i < 5; i += 1) {
      const startedAt = performance.now();
      const store = await open([`localhost:${proxy.port}`, ...hosts().slice(1)]);
      expect(await failuresOf(store, 20)).toBe(0);
      // At each of the 20 calls it would be five seconds.
      expect(performance.now() - startedAt).toBeLessThan(50_000);
    }
  });

  it('when a member falls silent, only the calls that wait for it fail', async () => {
    const proxy = await proxyTo(cluster.servers[0]);
    const store = await open([hostOf(proxy.url)]);
    const both = await openOn(hostOf(proxy.url), hosts().slice(1));
    for (const each of [store, both]) expect(await failuresOf(each, 5)).toBe(0);
    proxy.blackhole();
    expect(await write(store, 'a')).toBe('TIMEOUT');
    expect(await failuresOf(both, 20)).toBe(1);
    await proxy.heal();
    await until(async () => (await write(store, 'a')) === undefined, { what: 'the healed link to serve' });
  });

  it('when a member is killed, only the calls that wait for it fail; watches continue on others', async () => {
    const store = await open(hosts());
    const watch = new Recorder<Entry | undefined>((watchOptions) => store.watch('killed', watchOptions));
    await until(() => watch.states.length === 1, { what: 'the first state' });
    for (const server of cluster.servers) {
      await server.kill();
      // A member that knows no leader of the cluster fails a call at once. So there may be many
      // failures, but only while the cluster has no leader.
      await until(async () => (await write(store, 'killed')) === undefined, { what: 'the others to serve' });
      await server.restart();
    }
    const { revision } = (await store.read('killed', options)) ?? {};
    await until(() => watch.latest?.revision === revision, { what: 'the latest change' });
    await watch.stop();
  });

  it('when a member shuts down, calls and watches move at once, and its shutdown does not wait for watches', async () => {
    const [server] = cluster.servers;
    if (server === undefined) throw new Error('no server');
    const store = await openOn(hostOf(server.url), hosts().slice(1));
    const alone = await open([hostOf(server.url)]);
    const watches = [store, alone].map((each) => new Recorder((watchOptions) => each.watch('shut', watchOptions)));
    await until(() => watches.every(({ states }) => states.length === 1), { what: 'the first states' });
    const startedAt = performance.now();
    await server.kill('SIGTERM');
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    await until(async () => (await write(store, 'shut')) === undefined, { what: 'the others to serve' });
    await until(() => watches[0]?.latest !== undefined, { what: 'the change' });
    expect(watches[1]?.stale.length).toBe(1);
    await server.restart();
    await until(() => watches[1]?.latest !== undefined, { what: 'the change, on the member that came back' });
    await Promise.all(watches.map((watch) => watch.stop()));
  });

  it('when a member is paused, calls move after one failure, and watches when it answers no ping', async () => {
    const leader = cluster.servers[await cluster.leader()];
    if (leader === undefined) throw new Error('no leader');
    const others = hosts().filter((host) => host !== hostOf(leader.url));
    const store = await openOn(hostOf(leader.url), others);
    const watch = new Recorder<Entry | undefined>((watchOptions) => store.watch('still', watchOptions));
    await until(() => watch.states.length === 1, { what: 'the first state' });
    await leader.pause();
    await until(async () => (await write(store, 'still')) === undefined, { what: 'the others to serve' });
    await until(() => watch.latest !== undefined, { what: 'the change' });
    await watch.stop();
  });

  it('when a member has lost the others, calls fail and watches go stale, until there is a quorum again', async () => {
    const [one, two, three] = cluster.servers;
    if (one === undefined || two === undefined || three === undefined) throw new Error('no cluster');
    const store = await open([hostOf(one.url)]);
    const watch = new Recorder<Entry | undefined>((watchOptions) => store.watch('quorum', watchOptions));
    await until(() => watch.states.length === 1, { what: 'the first state' });
    await Promise.all([two.pause(), three.pause()]);
    // The watch must report that it is stale, although the connection works.
    await until(() => watch.stale.length === 1, { what: 'the watch to go stale', withinMs: 15_000 });
    expect(['UNAVAILABLE', 'TIMEOUT']).toContain(await write(store, 'quorum'));
    await Promise.all([two.resume(), three.resume()]);
    await until(async () => (await write(store, 'quorum')) === undefined, { what: 'the cluster to serve', withinMs: 20_000 });
    await until(() => watch.latest !== undefined, { what: 'the change' });
    expect(watch.stale.length).toBe(1);
    await watch.stop();
  });
});
