/** A server that comes back with an old snapshot: what was acknowledged since then did not happen, and what was deleted is there again. */

import { Member, type Entry, type Store } from '@incumbent/core';
import { requireStore, startRedis, uniqueNamespace, until, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';

const CALL = { timeoutMs: 5_000 };
const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };
const ONE = new Uint8Array([1]);
const OPTIONS = { acceptWeakStore: 'redis' } as const;
const WITHIN_MS = 10_000;

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis that is back with an old snapshot', () => {
  let server: RedisServer;
  let store: Store;

  beforeAll(async () => {
    server = await startRedis({ persistent: false });
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    store = await openRedis({ endpoints: [new URL(server.url).host], namespace: uniqueNamespace() });
    return () => store.close();
  });

  it('has revoked leases back, but no longer than they would have lived; those who watch see both', async () => {
    const lease = await store.grantLease(6_000, LEASE_CALL);
    const grantedAt = performance.now();
    const { revision, order } = await store.enqueue('q', 'a', ONE, lease.id, CALL);
    const seen: (Entry | undefined)[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const state of store.watch('q/a', { signal: stop.signal })) seen.push(state);
    })();
    await server.ctl(['save']);
    await store.revokeLease(lease.id, CALL);
    const later = await store.compareAndSwap([{ key: 'later', expect: null, put: ONE }], CALL);
    await until(() => seen.length > 0 && seen.at(-1) === undefined, { what: 'it is gone', withinMs: WITHIN_MS });
    await server.restart();
    await until(() => seen.at(-1)?.revision === revision, { what: 'it is back', withinMs: WITHIN_MS });
    await until(() => seen.at(-1) === undefined, { what: 'its time is over', withinMs: WITHIN_MS });
    expect(performance.now() - grantedAt).toBeGreaterThan(5_900);
    expect(await store.read('later', CALL)).toBeUndefined();
    // Stamps go on above those that the server has forgotten.
    const again = await store.compareAndSwap([{ key: 'later', expect: null, put: ONE }], CALL);
    const [lost = '', made = ''] = [later, again].map((result) => (result.swapped ? result.revisions[0] : undefined));
    expect(BigInt(made)).toBeGreaterThan(BigInt(lost));
    expect(BigInt(lost)).toBeGreaterThan(order);
    stop.abort();
    await watching;
  });

  it('deposes a leader whose claim it has forgotten, though it still has its lease', async () => {
    await using member = new Member(store, { memberId: 'a', ttlMs: 60_000 });
    const other = member.election('other', OPTIONS);
    const held = await other.campaign();
    await server.ctl(['save']);
    const first = await member.election('controller', OPTIONS).campaign();
    await server.restart();
    await until(() => !first.isValid(), { what: 'it no longer believes', withinMs: WITHIN_MS });
    expect(held.isValid()).toBe(true);
    const second = await member.election('controller').campaign();
    expect(second.isValid()).toBe(true);
  });
});
