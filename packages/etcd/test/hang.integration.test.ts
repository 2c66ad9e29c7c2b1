/** A real server that hangs: its disk is frozen, so it answers pings and serves nothing. */

import { isIncumbentError } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { hostOf, requireFreezableDisk, requireStore, startEtcdCluster } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

/** So short that it says something of the caller alone, and the connection is kept. */
const options = { timeoutMs: 250 };
/** etcd ends a connection at the third ping that comes too early. */
const CALLS = 40;

const canRun = (await requireStore({ store: 'etcd', own: true })) && (await requireFreezableDisk());

describe.runIf(canRun)('a server that hangs', () => {
  it('is not asked by more pings than it allows, however many calls it leaves unanswered', async () => {
    await using cluster = await startEtcdCluster({ size: 1, freezable: true });
    await using store = await openEtcd({ endpoints: [hostOf(cluster.url)] });
    await cluster.freezeDisk();
    const codes = new Set<string>();
    for (let nth = 0; nth < CALLS; nth += 1) {
      await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }], options).catch((error: unknown) => {
        codes.add(isIncumbentError(error) ? error.code : String(error));
      });
    }
    await cluster.thawDisk();
    // One that etcd ended for too many pings would be CONNECTION_LOST.
    expect([...codes]).toEqual(['TIMEOUT']);
  });
});
