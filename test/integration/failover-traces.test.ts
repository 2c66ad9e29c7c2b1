/** The trace of a failover of three processes on etcd, span by span. */

import { requireStore, sharedEtcd, uniqueNamespace } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { checkTrace, explained, type Fault, traceFailover } from './traced-failover.ts';

describe.runIf(await requireStore({ store: 'etcd' }))('the trace of three processes', { timeout: 180_000 }, () => {
  it.each<Fault>(['kill', 'handover', 'partition'])('has every step of a %s, from each process that took part', async (fault) => {
    const server = await sharedEtcd();
    const namespace = uniqueNamespace('traces');
    const storeUrl = (endpoint: string): string => `etcd://${new URL(endpoint).host}/${namespace}`;
    const failover = await traceFailover(fault, { server, storeUrl, ttlMs: 5_000, stopMs: 200 });
    checkTrace(fault, failover.spans);
    expect(explained(failover)).toBeGreaterThan(0);
  });
});
