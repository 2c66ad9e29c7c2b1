/**
 * A server that restarts from an old snapshot: later writes are gone, and keys that were deleted
 * later are back.
 */

import { Member, type Store } from '@incumbent/core';
import { requireStore, until } from '@incumbent/test-support';
import { beforeEach, describe, expect, it } from 'vitest';

import { CALL, follow, LEASE_CALL, ONE, StoreFixture } from './opening.ts';

const OPTIONS = { acceptWeakStore: 'redis' } as const;
const WITHIN_MS = 10_000;

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis that restarts from an old snapshot', () => {
  const fixture = new StoreFixture({ persistent: false });
  let store: Store;

  beforeEach(() => {
    ({ store } = fixture);
  });

  it('revives a revoked lease for at most the rest of its ttl, and watches show both', async () => {
    const lease = await store.grantLease(6_000, LEASE_CALL);
    const grantedAt = performance.now();
    const { revision, order } = await store.enqueue('q', 'a', ONE, lease.id, CALL);
    const { seen, stop } = follow((options) => store.watch('q/a', options));
    await fixture.server.ctl(['save']);
    await store.revokeLease(lease.id, CALL);
    const later = await store.compareAndSwap([{ key: 'later', expect: null, put: ONE }], CALL);
    await until(() => seen.length > 0 && seen.at(-1) === undefined, { what: 'it is gone', withinMs: WITHIN_MS });
    await fixture.server.restart();
    await until(() => seen.at(-1)?.revision === revision, { what: 'it is back', withinMs: WITHIN_MS });
    await until(() => seen.at(-1) === undefined, { what: 'its time is over', withinMs: WITHIN_MS });
    expect(performance.now() - grantedAt).toBeGreaterThan(5_900);
    expect(await store.read('later', CALL)).toBeUndefined();
    // New stamps are above those that the server has lost.
    const again = await store.compareAndSwap([{ key: 'later', expect: null, put: ONE }], CALL);
    const [lost = '', made = ''] = [later, again].map((result) => (result.swapped ? result.revisions[0] : undefined));
    expect(BigInt(made)).toBeGreaterThan(BigInt(lost));
    expect(BigInt(lost)).toBeGreaterThan(order);
    await stop();
  });

  it('deposes a leader whose claim it has lost, although it still has the lease', async () => {
    await using member = new Member(store, { memberId: 'a', ttlMs: 60_000 });
    const other = member.election('other', OPTIONS);
    const kept = await other.campaign();
    await fixture.server.ctl(['save']);
    const first = await member.election('controller', OPTIONS).campaign();
    await fixture.server.restart();
    await until(() => !first.isValid(), { what: 'the leadership is no longer valid', withinMs: WITHIN_MS });
    expect(kept.isValid()).toBe(true);
    const second = await member.election('controller').campaign();
    expect(second.isValid()).toBe(true);
  });
});
