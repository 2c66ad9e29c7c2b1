import assert from 'node:assert/strict';
import { isIncumbentError, type Key, type Lease, type Moment } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { connect, text, type Client } from '../client.ts';
import { casesOf } from '../define.ts';
import { expiry, goneWithinMs, refused } from '../expect.ts';
import { times, together } from '../combinations.ts';
import type { StoreHarness } from '../harness.ts';
import { sleep, until } from '../time.ts';

const define = casesOf('leases');

/** Renews the lease as fast as answers arrive until `body` has settled. Settles like `body`. */
async function besideRenewals(client: Client, lease: Lease, body: () => Promise<void>): Promise<void> {
  let isDone = false;
  const renew = async (): Promise<void> => {
    while (!isDone) {
      await client.renew(lease);
      // On a manual clock an answer may take no time, but the clock must advance.
      await sleep(client.clock, 1);
    }
  };
  const done = body().finally(() => {
    isDone = true;
  });
  await Promise.all([done, renew()]);
}

/**
 * Grants two leases of this ttl, and renews one of them once. Expects each to last for the ttl that
 * the store has granted.
 */
async function lastsAsGranted(client: Client, harness: StoreHarness, ttlMs: number): Promise<void> {
  const [granted, renewed] = [await client.grant(ttlMs), await client.grant(ttlMs)];
  const [once, again] = [`granted/${ttlMs}`, `renewed/${ttlMs}`];
  await Promise.all([client.create(once, 'one', granted), client.create(again, 'one', renewed)]);
  const renew = async (): Promise<void> => {
    await sleep(harness.clock, harness.ttlMs / 4);
    await expiry(client, harness, again, { ...renewed, ...(await client.renew(renewed)) });
  };
  await Promise.all([expiry(client, harness, once, granted), renew()]);
}

/**
 * Grants a lease with the shortest ttl of the store, and creates a key that is bound to the lease.
 * Tries again if the lease has expired before that: the ttl may be shorter than a stall of the
 * machine.
 */
async function shortestLease(client: Client, key: Key): Promise<Lease> {
  for (let attempts = 1; ; attempts += 1) {
    const lease = await client.grant(client.store.capabilities.minTtlMs);
    const [created] = await Promise.allSettled([client.create(key, 'one', lease)]);
    if (created.status === 'fulfilled') return lease;
    if (attempts === 5 || !isIncumbentError(created.reason, 'LEASE_EXPIRED')) throw created.reason;
  }
}

export const leaseCases: readonly StoreCase[] = [
  define(
    'keys vanish with a lease that nobody renews: in time, and never before its ttl has passed since validFrom',
    async (client, harness) => {
      const lease = await client.shortLease();
      await client.create('a', 'one', lease);
      await expiry(client, harness, 'a', lease);
    },
  ),

  define('grants what was asked, or says what it grants instead, and keeps that', async (client, harness) => {
    assert.equal((await client.shortLease()).ttlMs, harness.ttlMs, 'the harness names a ttl that the store does not grant exactly');
    const shortest = await shortestLease(client, 'a');
    assert.ok(shortest.ttlMs > 0);
    await expiry(client, harness, 'a', shortest);
  }),

  define(
    'a ttl that is no whole number of seconds is kept, or the store says what it grants, also after a renewal',
    async (client, harness) => {
      const { minTtlMs, maxTtlMs } = client.store.capabilities;
      // Two seconds longer than usual, because the machine may stall before the renewal.
      const ttls = [2_490, 2_990]
        .map((ms) => Math.floor(harness.ttlMs / 1_000) * 1_000 + ms)
        .filter((ttlMs) => ttlMs >= minTtlMs && ttlMs <= maxTtlMs);
      assert.ok(ttls.length > 0, 'the store grants no ttl a little longer than that of the harness');
      await Promise.all(ttls.map((ttlMs) => lastsAsGranted(client, harness, ttlMs)));
    },
  ),

  define('every lease has an id of its own', async (client, harness) => {
    const other = await connect(harness);
    const leases = await Promise.all([client.longLease(), client.longLease(), other.longLease(), other.longLease()]);
    assert.equal(new Set(leases.map((lease) => lease.id)).size, 4);
  }),

  define('renewing keeps keys alive over many ttls, and no longer', async (client, harness) => {
    const lease = await client.shortLease();
    await client.create('a', 'one', lease);
    let renewal = await client.renew(lease);
    for (const _ of times(9)) {
      await sleep(harness.clock, harness.ttlMs / 3);
      renewal = await client.renew(lease);
      assert.equal(text(await client.read('a')), 'one', 'the key vanished though its lease was renewed');
    }
    await expiry(client, harness, 'a', { ...lease, ...renewal });
  }),

  define(
    'a key whose lease another client renews without a pause is never absent: for reads, lists and watches',
    async (client, harness) => {
      const other = await connect(harness);
      const lease = await other.shortLease();
      await other.create('q/a', 'one', lease);
      const [watch, list] = [client.watch('q/a'), client.watchList('q')];
      for (const each of [watch, list]) await each.says(1, harness.slackMs);
      const seen = async (): Promise<void> => {
        const [entry, names] = await Promise.all([client.read('q/a'), client.names('q')]);
        assert.equal(text(entry), 'one', 'a read shows the key absent');
        assert.deepEqual(names, ['a'], 'a list lacks the key');
      };
      await besideRenewals(other, lease, async () => {
        // These reads take longer than the lease lasts without a renewal.
        for (const _ of times(60)) {
          await sleep(harness.clock, harness.ttlMs / 40);
          for (const __ of times(4)) await seen();
        }
      });
      assert.ok(
        watch.states.every((entry) => text(entry) === 'one'),
        'a watch shows the key absent',
      );
      assert.ok(
        list.states.every((entries) => entries.length === 1),
        'a watched list lacks the key',
      );
      for (const each of [watch, list]) await each.stop(harness.slackMs);
    },
  ),

  define('validFrom is a moment that the caller passed, and none later than the call’s own', async (client, harness) => {
    const options = client.leaseCall();
    const lease = await client.store.grantLease(harness.ttlMs, options);
    assert.deepEqual(lease.validFrom, options.at);
    const passed: Moment[] = [options.at];
    for (const _ of times(4)) {
      await sleep(harness.clock, harness.ttlMs / 10);
      const call = client.leaseCall();
      passed.push(call.at);
      const { validFrom } = await client.store.renewLease(lease.id, call);
      assert.ok(
        passed.some((at) => at.monotonicMs === validFrom.monotonicMs && at.wallMs === validFrom.wallMs),
        'validFrom is no moment that was passed',
      );
    }
  }),

  define('validFrom lags behind the call by no more than the store’s renewalLag', async (client, harness) => {
    const { renewalLag = 0 } = client.store.capabilities;
    const first = client.leaseCall();
    const lease = await client.store.grantLease(harness.ttlMs, first);
    const acknowledged = [{ at: first.at, byMs: harness.clock.monotonic() }];
    for (const _ of times(8)) {
      await sleep(harness.clock, harness.ttlMs / 10);
      const call = client.leaseCall();
      const { validFrom } = await client.store.renewLease(lease.id, call);
      if (renewalLag === 0) assert.deepEqual(validFrom, call.at);
      // The store has counted the calls that were acknowledged by then.
      const countedMs = call.at.monotonicMs - renewalLag * lease.ttlMs;
      const counted = acknowledged.findLast(({ byMs }) => byMs <= countedMs)?.at ?? first.at;
      const lateMs = counted.monotonicMs - validFrom.monotonicMs;
      assert.ok(lateMs <= 0, `validFrom is ${lateMs} ms before a call that the store has counted`);
      acknowledged.push({ at: call.at, byMs: harness.clock.monotonic() });
    }
  }),

  define('a renewal moves validFrom on, or the lease could not be kept', async (client, harness) => {
    const lease = await client.shortLease();
    for (const _ of times(4)) {
      await sleep(harness.clock, harness.ttlMs / 4);
      await client.renew(lease);
    }
    const { validFrom, ttlMs } = await client.renew(lease);
    assert.ok(validFrom.monotonicMs > lease.validFrom.monotonicMs, 'validFrom stands still');
    assert.ok(ttlMs > 0);
  }),

  define('renewals at once, and of 50 leases at once, all succeed', async (client) => {
    const leases = await Promise.all(times(50).map(() => client.longLease()));
    assert.equal(new Set(leases.map((lease) => lease.id)).size, 50);
    await Promise.all([...leases, ...leases].map((lease) => client.renew(lease)));
    await Promise.all(leases.map((lease) => client.revoke(lease)));
  }),

  define('a lease may have 200 keys, or as many as the store says', async (client) => {
    const lease = await client.longLease();
    const count = Math.min(200, client.store.capabilities.maxKeysPerLease);
    await together(times(count), 16, async (i) => {
      await client.create(`many/k${i}`, '', lease);
    });
    assert.equal((await client.list('many')).length, count);
    await client.revoke(lease);
    assert.deepEqual(await client.list('many'), []);
  }),

  define('renewing a revoked lease says LEASE_EXPIRED, and brings nothing back', async (client) => {
    const lease = await client.longLease();
    await client.create('a', 'one', lease);
    await client.revoke(lease);
    await refused(client.renew(lease), 'LEASE_EXPIRED');
    await refused(client.renew(lease), 'LEASE_EXPIRED');
    assert.equal(await client.read('a'), undefined);
  }),

  define('renewing an expired lease says LEASE_EXPIRED, and brings nothing back', async (client, harness) => {
    const lease = await client.shortLease();
    await client.create('a', 'one', lease);
    await expiry(client, harness, 'a', lease);
    await refused(client.renew(lease), 'LEASE_EXPIRED');
    assert.equal(await client.read('a'), undefined);
  }),

  define('a lease without keys expires as well', async (client, harness) => {
    const lease = await client.shortLease();
    await sleep(harness.clock, goneWithinMs(client, harness, lease));
    await refused(client.renew(lease), 'LEASE_EXPIRED');
  }),

  define('revoking removes every key of the lease before it answers, and no other', async (client) => {
    const [lease, other] = [await client.longLease(), await client.longLease()];
    for (const i of times(5)) await client.create(`mine/k${i}`, 'one', lease);
    await client.enqueue('queue', 'mine', lease);
    await client.create('theirs/k', 'one', other);
    await client.create('nobodys/k', 'one');
    await client.revoke(lease);
    assert.deepEqual([await client.names('mine'), await client.names('queue')], [[], []]);
    assert.deepEqual([await client.names('theirs'), await client.names('nobodys')], [['k'], ['k']]);
  }),

  define('revoking a lease that is gone already is no error', async (client, harness) => {
    const [revoked, expired] = [await client.longLease(), await client.shortLease()];
    await client.create('a', 'one', expired);
    await client.revoke(revoked);
    await client.revoke(revoked);
    await expiry(client, harness, 'a', expired);
    await client.revoke(expired);
  }),

  define('two leases of one client live and die apart', async (client, harness) => {
    const [kept, left] = [await client.shortLease(), await client.shortLease()];
    await client.create('kept', 'one', kept);
    await client.create('left', 'one', left);
    const isGone = async (): Promise<boolean> => {
      await client.renew(kept);
      return (await client.read('left')) === undefined;
    };
    const withinMs = goneWithinMs(client, harness, left);
    await until(harness.clock, isGone, { withinMs, what: 'the key of the lease that was left vanishes', everyMs: harness.ttlMs / 10 });
    assert.equal(text(await client.read('kept')), 'one');
  }),

  define('a lease outlives the client that it was granted to, until it expires', async (client, harness) => {
    const other = await connect(harness);
    const lease = await other.shortLease();
    await other.create('a', 'one', lease);
    await other.store.close();
    await expiry(client, harness, 'a', lease);
  }),
];
