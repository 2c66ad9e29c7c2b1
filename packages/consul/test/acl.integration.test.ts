/** Leases on a Consul with access rules, whose servers answer for sessions that they do not know without asking each other. */

import type { Store } from '@incumbent/core';
import { requireStore, startConsul, uniqueNamespace, type ConsulServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';

const TOKEN = '11111111-2222-3333-4444-555555555555';
const CALL = { timeoutMs: 3_000 };

function now() {
  return { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } };
}

describe.runIf(await requireStore({ store: 'consul', own: true }))('with access rules', () => {
  let consul: ConsulServer;
  beforeAll(async () => {
    consul = await startConsul({ managementToken: TOKEN });
  });
  afterAll(() => consul.stop());

  function open(): Promise<Store> {
    return openConsul({ endpoint: new URL(consul.url).host, namespace: uniqueNamespace(), token: TOKEN });
  }

  it('a lease that is gone can be ended again', async () => {
    await using store = await open();
    const { id } = await store.grantLease(2_000, now());
    await store.revokeLease(id, CALL);
    await store.revokeLease(id, CALL);
  });

  it('a lease that others have ended is said to be gone by its renewal', async () => {
    await using store = await open();
    await using other = await open();
    const { id } = await store.grantLease(2_000, now());
    await other.revokeLease(id, CALL);
    await expect(store.renewLease(id, now())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
  });
});
