/** 3,000 watches of one process, through whatever happens to their one connection. */

import { isIncumbentError, type Entry, type Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { type EtcdServer, hostOf, type Proxy, requireStore, startEtcd, startProxy, until } from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { metricOf, watchersOf } from './harness.ts';

const WATCHES = 3_000;
/** The default timeout of 3 s: on a busy machine a shorter one takes a live link for dead. */
const KEEPALIVE = { intervalMs: 6_000 };
const options = { timeoutMs: 5_000 };
/** 3,000 reads and as many watches take less than 2 s on a quiet machine. */
const WAIT_MS = 60_000;

describe.runIf(await requireStore({ store: 'etcd', own: true }))('3,000 watches', { timeout: 3 * WAIT_MS }, () => {
  let etcd: EtcdServer;
  let proxy: Proxy;
  let direct: Store;
  let store: Store;
  let watches: Recorder<Entry | undefined>[];
  let round = 0;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  beforeEach(async () => {
    const namespace = `watches-${(round += 1)}`;
    proxy = await startProxy(etcd.url);
    direct = await openEtcd({ endpoints: [hostOf(etcd.url)], namespace });
    store = await openEtcd({ endpoints: [hostOf(proxy.url)], namespace, keepalive: KEEPALIVE });
    watches = Array.from({ length: WATCHES }, (_, i) => new Recorder((watchOptions) => store.watch(`k/${i}`, watchOptions)));
    await until(() => watches.every(({ states }) => states.length === 1), { what: 'a first state of every watch', withinMs: WAIT_MS });
  }, 2 * WAIT_MS);
  afterEach(async () => {
    await store.close();
    const ends = await Promise.all(watches.map(({ ended }) => ended));
    expect(ends.every((error) => isIncumbentError(error, 'STORE_CLOSED'))).toBe(true);
    await direct.close();
    await proxy.close();
    await until(async () => (await watchersOf(etcd)) === 0, { what: 'no watch left on the server' });
  });

  async function put(key: string): Promise<void> {
    const current = await direct.read(key, options);
    await direct.compareAndSwap([{ key, expect: current?.revision ?? null, put: new Uint8Array([1]) }], options);
  }

  /** Every watch has yielded once more than before, and has been stale once. */
  async function allBack(yielded: number): Promise<void> {
    const back = (): number => watches.filter(({ states }) => states.length >= yielded).length;
    await until(() => back() === WATCHES, { what: 'a state of every watch', withinMs: WAIT_MS }).catch((error: unknown) => {
      throw new Error(`${back()} of ${WATCHES} are back`, { cause: error });
    });
    expect(new Set(watches.map(({ stale }) => stale.length))).toEqual(new Set([1]));
  }

  it('share one connection and one stream, and each sees its own key', async () => {
    expect(proxy.stats().connections.opened).toBe(1);
    expect(await watchersOf(etcd)).toBe(WATCHES);
    await Promise.all([7, 1_234, 2_999].map((i) => put(`k/${i}`)));
    const changed = (): number => watches.filter(({ latest }) => latest !== undefined).length;
    await until(() => changed() >= 3, { what: 'the changes' });
    expect([changed(), watches[7]?.states.length, watches[8]?.states.length]).toEqual([3, 2, 1]);
  });

  it('continue after a reset with one read each, and miss no change', async () => {
    await put('k/1');
    await until(() => watches[1]?.latest !== undefined, { what: 'the change' });
    const reads = await metricOf(etcd, 'grpc_server_started_total', 'Range');
    proxy.reset();
    await put('k/2');
    await allBack(2);
    expect([watches[1]?.latest, watches[2]?.latest, watches[3]?.latest].map((entry) => entry !== undefined)).toEqual([true, true, false]);
    // One for each, and those of this test.
    expect((await metricOf(etcd, 'grpc_server_started_total', 'Range')) - reads).toBeLessThan(WATCHES + 50);
  });

  it('go stale within the keepalive’s timeout on a dead link, and continue when it heals, compacted or not', async () => {
    proxy.blackhole();
    await put('k/2');
    const { revision = '' } = (await direct.read('k/2', options)) ?? {};
    await put('k/other');
    await until(() => watches.every(({ stale }) => stale.length === 1), { what: 'the watches to go stale' });
    await etcd.ctl(['compact', String(BigInt(revision) + 1n)]);
    await proxy.heal();
    await allBack(2);
    expect(watches[2]?.latest).toBeDefined();
    await put('k/3');
    await until(() => watches[3]?.latest !== undefined, { what: 'a change after it' });
  });

  it('make few attempts on a server that refuses connections', async () => {
    proxy.refuse();
    proxy.reset();
    await until(() => watches.every(({ stale }) => stale.length === 1), { what: 'the watches to go stale' });
    const cpu = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const { user, system } = process.cpuUsage(cpu);
    expect((user + system) / 1_000).toBeLessThan(600);
    await proxy.heal();
    await allBack(2);
  });

  it('continue after the server was killed and started again', async () => {
    await put('k/1');
    await until(() => watches[1]?.latest !== undefined, { what: 'the change' });
    await etcd.kill();
    await etcd.restart();
    await allBack(2);
    expect(watches[1]?.latest).toBeDefined();
  });
});
