import assert from 'node:assert/strict';
import { isIncumbentError } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { bytes, connect, text } from '../client.ts';
import { casesOf } from '../define.ts';
import { expiry, refused } from '../expect.ts';
import { times } from '../combinations.ts';

const define = casesOf('compareAndSwap');

export const swapLeaseCases: readonly StoreCase[] = [
  define('a put binds a new key to a lease', async (client) => {
    const lease = await client.longLease();
    await client.create('a', 'one', lease);
    assert.equal((await client.get('a')).lease, lease.id);
    await client.revoke(lease);
    assert.equal(await client.read('a'), undefined);
  }),

  define('a put binds a key that is there to a lease', async (client) => {
    const lease = await client.longLease();
    const first = await client.create('a', 'one');
    await client.put('a', first, 'two', lease.id);
    assert.equal((await client.get('a')).lease, lease.id);
    await client.revoke(lease);
    assert.equal(await client.read('a'), undefined);
  }),

  define('a put keeps the binding, asked to or not', async (client) => {
    const lease = await client.longLease();
    const first = await client.create('a', 'one', lease);
    const second = await client.put('a', first, 'two', 'keep');
    await client.put('a', second, 'three');
    assert.equal((await client.get('a')).lease, lease.id);
    await client.revoke(lease);
    assert.equal(await client.read('a'), undefined);
  }),

  define('a put of another client keeps the binding to a lease that is not its own', async (client, harness) => {
    const other = await connect(harness);
    const lease = await client.longLease();
    const first = await client.create('a', 'one', lease);
    const before = (await other.get('a')).lease;
    const second = await other.put('a', first, 'two', 'keep');
    assert.deepEqual([(await client.get('a')).lease, (await other.get('a')).lease], [lease.id, before]);
    await other.put('a', second, 'three');
    assert.deepEqual([(await client.get('a')).lease, (await other.get('a')).lease], [lease.id, before]);
    assert.equal(text(await client.read('a')), 'three');
    await client.revoke(lease);
    assert.equal(await client.read('a'), undefined);
  }),

  define("'keep' leaves a key without a lease without one, new or not", async (client) => {
    const first = await client.put('a', null, 'one', 'keep');
    await client.put('a', first, 'two', 'keep');
    assert.equal((await client.get('a')).lease, undefined);
  }),

  define('a put with null unbinds: the key survives its former lease', async (client, harness) => {
    const lease = await client.shortLease();
    await client.create('bound', 'bound', lease);
    const first = await client.create('a', 'one', lease);
    await client.put('a', first, 'two', null);
    assert.equal((await client.get('a')).lease, undefined);
    await expiry(client, harness, 'bound', lease);
    assert.equal(text(await client.read('a')), 'two');
  }),

  define(
    'a put binds a key to the lease of another client, and it lives by that one alone',
    async (client, harness) => {
      const other = await connect(harness);
      const [mine, theirs] = [await client.longLease(), await other.longLease()];
      const first = await client.create('a', 'one', mine);
      await client.put('a', first, 'two', theirs.id);
      await client.revoke(mine);
      assert.equal((await client.get('a')).lease, theirs.id);
      await other.revoke(theirs);
      assert.equal(await client.read('a'), undefined);
    },
    { needs: ['assignableLease'] },
  ),

  define(
    'refuses to bind a key to the lease of another client, and changes nothing',
    async (client, harness) => {
      const theirs = await (await connect(harness)).longLease();
      await refused(
        client.swap({ key: 'a', expect: null, put: bytes('one'), lease: theirs.id }, { key: 'b', expect: null, put: bytes('one') }),
      );
      assert.deepEqual([await client.read('a'), await client.read('b')], [undefined, undefined]);
    },
    { needs: ['ownLeasesOnly'] },
  ),

  define('refuses a swap that binds to a lease that was revoked, and changes nothing', async (client) => {
    const lease = await client.longLease();
    const first = await client.create('b', 'one');
    await client.revoke(lease);
    await refused(
      client.swap({ key: 'a', expect: null, put: bytes('one'), lease: lease.id }, { key: 'b', expect: first, put: bytes('two') }),
      'LEASE_EXPIRED',
    );
    assert.equal(await client.read('a'), undefined);
    assert.equal(text(await client.read('b')), 'one');
  }),

  define('refuses a swap that binds to a lease that expired, and changes nothing', async (client, harness) => {
    const lease = await client.shortLease();
    await client.create('bound', 'bound', lease);
    await expiry(client, harness, 'bound', lease);
    await refused(client.swap({ key: 'a', expect: null, put: bytes('one'), lease: lease.id }), 'LEASE_EXPIRED');
    assert.equal(await client.read('a'), undefined);
  }),

  define('a key that is bound while its lease is revoked never outlives it', async (client) => {
    for (const round of times(20)) {
      const lease = await client.longLease();
      const bind = (key: string): Promise<unknown> => client.swap({ key, expect: null, put: bytes(''), lease: lease.id });
      const before = [bind(`${round}/a`), client.enqueue(`${round}/q`, 'b', lease)];
      const after = [client.revoke(lease), bind(`${round}/c`), client.enqueue(`${round}/q`, 'd', lease)];
      const settled = await Promise.allSettled([...before, ...after]);
      for (const one of settled)
        if (one.status === 'rejected') assert.ok(isIncumbentError(one.reason, 'LEASE_EXPIRED'), String(one.reason));
      assert.deepEqual(await client.list(`${round}`), []);
    }
  }),

  define(
    'one swap may bind keys to the leases of several clients',
    async (client, harness) => {
      const other = await connect(harness);
      const [mine, theirs] = [await client.longLease(), await other.longLease()];
      const put = bytes('');
      await client.swap({ key: 'q/a', expect: null, put, lease: mine.id }, { key: 'q/b', expect: null, put, lease: theirs.id });
      await client.revoke(mine);
      assert.deepEqual(await client.names('q'), ['b']);
      await other.revoke(theirs);
      assert.deepEqual(await client.names('q'), []);
    },
    { needs: ['assignableLease'] },
  ),

  define('a key that was deleted and made again under its lease goes with it', async (client) => {
    const lease = await client.longLease();
    await client.remove('a', await client.create('a', 'one', lease));
    await client.create('a', 'two', lease);
    await client.revoke(lease);
    assert.equal(await client.read('a'), undefined);
  }),

  define('a key that was deleted and made again without a lease does not vanish with its former one', async (client) => {
    const lease = await client.longLease();
    const first = await client.create('a', 'one', lease);
    await client.remove('a', first);
    await client.create('a', 'two');
    await client.revoke(lease);
    assert.equal(text(await client.read('a')), 'two');
  }),
];
