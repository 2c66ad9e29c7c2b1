/**
 * A server that somebody changes while a store is open: its clock, its settings, its users and its
 * keys.
 */

import type { Entry, Lease, Store } from '@incumbent/core';
import { requireStore } from '@incumbent/test-support';
import { beforeEach, describe, expect, it } from 'vitest';

import { CALL, follow, LEASE_CALL, ONE, put, StoreFixture } from './opening.ts';

const MIB = 2 ** 20;

describe.runIf(await requireStore({ store: 'redis', own: true }))('a redis', () => {
  const fixture = new StoreFixture();
  let store: Store;
  let namespace: string;

  beforeEach(() => {
    ({ store, namespace } = fixture);
  });

  const grant = (ttlMs: number): Promise<Lease> => store.grantLease(ttlMs, LEASE_CALL);
  const ctl = (...args: readonly string[]): Promise<string> => fixture.server.ctl(args);

  it('whose clock was set back gives no lease more than its ttl from the next access', async () => {
    const lease = await grant(1_000);
    await store.enqueue('q', 'a', ONE, lease.id, CALL);
    // As after the clock was set back by an hour.
    await ctl('pexpire', `{${namespace}}:lease:${lease.id}`, '3600000');
    const { seen, stop } = follow<Entry | undefined>((options) => store.watch('q/a', options));
    await expect.poll(() => seen.length, { timeout: 4_000 }).toBe(1);
    await expect.poll(() => seen.at(-1), { timeout: 3_000 }).toBeUndefined();
    expect(seen).toHaveLength(2);
    await stop();
  });

  it('that was set to evict keys is refused at the next connection', async () => {
    await ctl('config', 'set', 'maxmemory-policy', 'allkeys-lru');
    try {
      await ctl('client', 'kill', 'type', 'normal', 'skipme', 'yes');
      await expect
        .poll(() =>
          put(store, 'a').then(
            () => 'done',
            (error: unknown) => error,
          ),
        )
        .toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    } finally {
      await ctl('config', 'set', 'maxmemory-policy', 'noeviction');
    }
    await put(store, 'a');
  });

  it.each(['/*', '/* ~{ns}:lease:* ~{ns}:bound:* ~{ns}:leases ~{ns}:clock', '* resetkeys ~{ns} %R~{ns}*'])(
    'does not open for a user with half of the keys: ~{ns}%s',
    async (keys) => {
      const rules = `on >secret &* +@all ~{ns} ~{ns}${keys}`.replaceAll('{ns}', `{${namespace}}`);
      await ctl('acl', 'setuser', 'half', 'reset', ...rules.split(' '));
      await expect(fixture.open({ credentials: { username: 'half', password: 'secret' } })).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        outcome: 'refused',
      });
    },
  );

  it('is not asked for a list that would make it disconnect a subscriber', async () => {
    const { seen, stop } = follow<Entry | undefined>((options) => store.watch('w', options));
    await expect.poll(() => seen.length).toBe(1);
    for (let i = 0; i < 40; i += 1) await put(store, `q/${i}`, new Uint8Array(MIB));
    const lease = await grant(60_000);
    const list = store.list('q', CALL).then(
      () => 'listed',
      (error: unknown) => error,
    );
    const renewal = store.renewLease(lease.id, LEASE_CALL).then(
      () => 'renewed',
      (error: unknown) => error,
    );
    expect(await list).toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
    expect(await renewal).toBe('renewed');
    // Single reads and a part of the list are short enough.
    const reads = await Promise.all(Array.from({ length: 40 }, (_, i) => store.read(`q/${i}`, CALL)));
    expect(reads.map((entry) => entry?.value.length)).toEqual(Array.from({ length: 40 }, () => MIB));
    expect(await store.list('q', { ...CALL, last: 4 })).toHaveLength(4);
    expect(await store.list('q', { ...CALL, values: false })).toHaveLength(40);
    expect(seen).toHaveLength(1);
    await stop();
  });

  it('with a key whose fields were written by hand makes calls on that key fail with STORE_FAILED', async () => {
    await ctl('hset', `{${namespace}}/a`, 'r', '1', 'o', 'first', 'l', '', 'v', 'x');
    const unknown = { name: 'StoreError', code: 'STORE_FAILED' };
    await expect(store.read('a', CALL)).rejects.toMatchObject(unknown);
    await expect(put(store, 'a')).rejects.toMatchObject(unknown);
  });

  it('with a key whose fields were written by hand serves all other calls in flight', async () => {
    await ctl('hset', `{${namespace}}/a`, 'r', '1', 'o', 'first', 'l', '', 'v', 'x');
    const lease = await grant(60_000);
    const read = store.read('a', CALL).catch((error: unknown) => error);
    const renewals: Promise<unknown>[] = [];
    // The read is sent at the end of this turn, so some of these renewals are sent after it.
    for (let i = 0; i < 20; i += 1) {
      renewals.push(store.renewLease(lease.id, LEASE_CALL));
      await Promise.resolve();
    }
    expect(await read).toMatchObject({ code: 'STORE_FAILED' });
    await Promise.all(renewals);
  });

  it('with a lease whose value was written by hand makes its renewal fail with STORE_FAILED', async () => {
    const lease = await grant(60_000);
    await ctl('set', `{${namespace}}:lease:${lease.id}`, 'what');
    await expect(store.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject({
      name: 'StoreError',
      code: 'STORE_FAILED',
      outcome: 'unknown',
    });
  });
});
