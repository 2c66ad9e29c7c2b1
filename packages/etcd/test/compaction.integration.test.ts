/** Watches and an election on an etcd whose history is compacted all the time. */

import { ElectionObserver, Member, type Entry, type Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { type EtcdServer, hostOf, type Proxy, requireStore, startEtcd, startProxy, until } from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const options = { timeoutMs: 5_000 };
const ROUNDS = 100;
/**
 * Longer than a write and a compaction together, so that both fit between a read and the watch that
 * goes on from it.
 */
const LATENCY_MS = 250;
const wasCompacted = (error: Error): boolean => /compacted/.test(error.message);

describe.runIf(await requireStore({ store: 'etcd', own: true }))('while another client compacts after every write', () => {
  let etcd: EtcdServer;
  let proxy: Proxy;
  /** Writes; and reads what is true. */
  let direct: Store;
  /** Watches, through the proxy. */
  let store: Store;
  let namespace = '';
  let cases = 0;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  beforeEach(async () => {
    namespace = `compaction-${(cases += 1)}`;
    proxy = await startProxy(etcd.url);
    direct = await openEtcd({ endpoints: [hostOf(etcd.url)], namespace });
    store = await openEtcd({ endpoints: [hostOf(proxy.url)], namespace });
  });
  afterEach(async () => {
    await store.close();
    await direct.close();
    await proxy.close();
  });

  async function put(key: string, value: Uint8Array = new Uint8Array([1])): Promise<bigint> {
    const current = await direct.read(key, options);
    const written = await direct.compareAndSwap([{ key, expect: current?.revision ?? null, put: value }], options);
    if (!written.swapped) throw new Error(`somebody else wrote ${key}`);
    return BigInt(written.revisions[0] ?? 0);
  }

  /** By the server's HTTP gateway, which is quicker than etcdctl. */
  async function post(path: string, body: object): Promise<Response> {
    return fetch(new URL(path, etcd.url), { method: 'POST', body: JSON.stringify(body) });
  }

  async function compact(revision: bigint): Promise<void> {
    const response = await post('/v3/kv/compaction', { revision: String(revision) });
    if (!response.ok) throw new Error(`etcd did not compact: ${await response.text()}`);
  }

  /** Changes the key and one entry of the list, and compacts up to the last of these changes. */
  async function round(nth: number): Promise<void> {
    await put('key');
    await compact(await put(`list/${nth % 5}`));
  }

  const watchKey = (): Recorder<Entry | undefined> => new Recorder((watchOptions) => store.watch('key', watchOptions));
  const watchList = (): Recorder<readonly Entry[]> => new Recorder((watchOptions) => store.watchList('list', watchOptions));

  /**
   * Waits until both watches show what a linearizable read shows, and again after one more change
   * of each.
   */
  async function expectLatest(key: Recorder<Entry | undefined>, list: Recorder<readonly Entry[]>): Promise<void> {
    for (let more = 0; more < 2; more += 1) {
      const [entry, entries] = [await direct.read('key', options), await direct.list('list', options)];
      const isShown = (): boolean => key.latest?.revision === entry?.revision && sameEntries(list.latest, entries);
      await until(isShown, { what: 'the watches to show what a read shows' });
      expect([key.latest, list.latest]).toEqual([entry, entries]);
      await put('key');
      await put('list/0');
    }
    await Promise.all([key.stop(), list.stop()]);
  }

  it('watches of a key and of a list show every last state, and a read of the past is refused', async () => {
    const [key, list] = [watchKey(), watchList()];
    await until(() => key.states.length > 0 && list.states.length > 0, { what: 'the first states' });
    const before = await put('key');
    for (let nth = 0; nth < ROUNDS; nth += 1) await round(nth);
    const past = await post('/v3/kv/range', { key: Buffer.from('any').toString('base64'), revision: String(before) });
    expect(await past.text()).toMatch(/compacted/);
    await expectLatest(key, list);
  });

  it('watches that resume at a compacted revision after an interruption show the present state in the end', async () => {
    const [key, list] = [watchKey(), watchList()];
    await until(() => key.states.length > 0 && list.states.length > 0, { what: 'the first states' });
    // From now on each attempt to resume reads at one revision, and starts to watch it some time
    // later.
    proxy.reset();
    proxy.latency(LATENCY_MS, { direction: 'requests' });
    let nth = 0;
    const refused = async (): Promise<boolean> => {
      await round((nth += 1));
      return key.stale.some(wasCompacted) && list.stale.some(wasCompacted);
    };
    await until(refused, { what: 'both watches to be refused at a compacted revision', everyMs: 1 });
    await proxy.heal();
    await expectLatest(key, list);
  });

  it('an election continues: a leader resigns again and again, another takes over, and an observer sees each of them', async () => {
    await using a = new Member(store, { memberId: 'a', ttlMs: 5_000 });
    await using b = new Member(direct, { memberId: 'b', ttlMs: 5_000 });
    const observer = new ElectionObserver(store, 'controller');
    const seen = new Set<bigint>();
    const stopObserving = observer.subscribe((view) => {
      if (view.state === 'leader') seen.add(view.term);
    });
    const over = new AbortController();
    const keepCompacting = async (): Promise<void> => {
      for (let nth = 0; !over.signal.aborted; nth += 1) await round(nth);
    };
    const compacting = keepCompacting().catch((error: unknown) => error);
    try {
      let leading = await a.election('controller').campaign();
      for (const [nth, next] of [b, a, b, a].entries()) {
        const coming = next.election('controller').campaign();
        await leading.resign();
        leading = await coming;
        expect([leading.term, leading.isValid()]).toEqual([BigInt(nth + 2), true]);
        await until(() => seen.has(leading.term), { what: `the observer to see term ${leading.term}` });
      }
      // The interrupted connection belongs to the leader, to a waiting member, and to the observer.
      const coming = b.election('controller').campaign();
      proxy.reset();
      await leading.resign();
      const last = await coming;
      expect(last.term).toBe(6n);
      await until(() => seen.has(6n), { what: 'the observer to see the last term' });
    } finally {
      over.abort();
      stopObserving();
    }
    expect(await compacting).toBeUndefined();
  });
});

function sameEntries(one: readonly Entry[] | undefined, other: readonly Entry[]): boolean {
  return (
    JSON.stringify(one?.map(({ key, revision }) => [key, revision])) === JSON.stringify(other.map(({ key, revision }) => [key, revision]))
  );
}
