/** Watches on a real server to which nobody writes. Newer servers report no progress then. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { hostOf, type OwnServer, requireStore, startEtcd, startKubernetesEtcd } from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { describe, expect, it } from 'vitest';

const options = { timeoutMs: 5_000 };
/** Long, for a busy machine. */
const SOON = { timeout: 5_000 };
/** The second one begins after the time in which the first had to succeed. */
const PROOFS = 4;

/** How many reads the server has answered. */
async function readsAt(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^grpc_server_handled_total\{grpc_code="OK",grpc_method="Range",.*\} (\S+)$/m.exec(metrics)?.[1] ?? 0);
}

function describeQuiet(name: string, start: () => Promise<OwnServer>): void {
  describe(name, { timeout: 60_000 }, () => {
    it('does not lose its watches while nothing is written, and shows the next change', async () => {
      await using etcd = await start();
      await using store = await openEtcd({ endpoints: [hostOf(etcd.url)] });
      const written = await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }], options);
      const revision = written.swapped ? written.revisions[0] : undefined;
      const read = new Recorder<Entry | undefined>((watch) => store.watch('a', watch));
      const since = new Recorder<Entry | undefined>((watch) => store.watch('a', { ...watch, since: revision }));
      await expect.poll(() => read.states.length, SOON).toBe(1);
      const before = await readsAt(etcd.url);
      // Each proof is a read.
      while ((await readsAt(etcd.url)) < before + PROOFS) await sleep(250);
      expect([read.states.length, read.stale, since.states.length, since.stale]).toEqual([1, [], 0, []]);
      await store.compareAndSwap([{ key: 'a', expect: revision ?? null, put: new Uint8Array([2]) }], options);
      await expect.poll(() => [read.latest?.value, since.latest?.value], SOON).toEqual([new Uint8Array([2]), new Uint8Array([2])]);
      await Promise.all([read.stop(), since.stop()]);
    });
  });
}

if (await requireStore({ store: 'etcd', own: true })) describeQuiet('an etcd', () => startEtcd());
if (await requireStore({ store: 'kubernetes', own: true })) describeQuiet('the newest etcd of the tests', startKubernetesEtcd);
