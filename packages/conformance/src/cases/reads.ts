import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import { bytes, connect, everyCall, text } from '../client.ts';
import { casesOf } from '../define.ts';
import { cycle, times } from '../combinations.ts';
import { until } from '../time.ts';

const define = casesOf('reads');

/** True for the error of a wrong argument. */
function isMistake(error: unknown): boolean {
  const isType = error instanceof TypeError || error instanceof RangeError;
  return isType && 'code' in error && error.code === 'INVALID_OPTION';
}

export const readCases: readonly StoreCase[] = [
  define('a key that was never made is absent', async (client) => {
    await client.create('a', 'one');
    assert.equal(await client.read('b'), undefined);
    assert.equal(await client.read('ab'), undefined);
    assert.equal(await client.read('never/made'), undefined);
  }),

  define('a path above keys is no key', async (client) => {
    await client.create('a/b/c', 'one');
    assert.equal(await client.read('a/b'), undefined);
    assert.equal(await client.read('a'), undefined);
  }),

  define('clients of one namespace see one another’s keys', async (client, harness) => {
    const other = await connect(harness);
    const revision = await client.create('a/b', 'one');
    assert.equal((await other.get('a/b')).revision, revision);
    await other.put('a/b', revision, 'two');
    assert.equal(text(await client.read('a/b')), 'two');
  }),

  define(
    'what one client wrote, another reads at once',
    async (client, harness) => {
      const other = await connect(harness);
      let revision = await client.create('a', '0');
      for (const i of times(50)) {
        revision = await client.put('a', revision, `${i}`);
        const read = await other.get('a');
        assert.deepEqual([text(read), read.revision], [`${i}`, revision]);
      }
    },
    { needs: ['linearizable'] },
  ),

  define('a read that need not be fresh tells a state that there was, and soon the one that there is', async (client, harness) => {
    const other = await connect(harness);
    let revision = await client.create('a', '0');
    const seen = async (): Promise<number> => Number(text(await other.store.read('a', { ...other.call(), fresh: false })) ?? 0);
    for (const i of times(20)) {
      const before = await seen();
      assert.ok(before <= i, `${before} was read when ${i} had not been written`);
      revision = await client.put('a', revision, `${i}`);
    }
    const withinMs = harness.slackMs;
    await until(harness.clock, async () => (await seen()) === 19, { withinMs, what: 'the last value', everyMs: harness.slackMs / 50 });
  }),

  define(
    'what one client enqueued, another lists at once',
    async (client, harness) => {
      const other = await connect(harness);
      const lease = await client.longLease();
      for (const i of times(30)) {
        const entry = await client.enqueue('q', `e${i}`, lease);
        assert.deepEqual((await other.list('q')).at(-1), entry);
        assert.deepEqual(await other.list('q', { last: 1 }), [entry]);
      }
    },
    { needs: ['linearizable'] },
  ),

  define(
    'a read never shows an older state than one that ended before it began, on whatever client',
    async (client, harness) => {
      const readers = [await connect(harness), await connect(harness)];
      let revision = await client.create('a', '0');
      let isDone = false;
      const write = async (): Promise<void> => {
        for (const i of times(100)) revision = await client.put('a', revision, `${i + 1}`);
        isDone = true;
      };
      const read = async (): Promise<void> => {
        let latest = 0;
        for (let i = 0; !isDone; i += 1) {
          const seen = Number(text(await cycle(readers, i).read('a')));
          assert.ok(seen >= latest, `${seen} was read after ${latest}`);
          latest = seen;
        }
      };
      await Promise.all([write(), read()]);
    },
    { needs: ['linearizable'] },
  ),

  define('every call but a lease call may be made without options, and a lease call without a timeout', async (client) => {
    const { store } = client;
    const { at } = client.leaseCall();
    const lease = await store.grantLease((await client.longLease()).ttlMs, { at });
    await store.renewLease(lease.id, { at });
    const swap = await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('one') }]);
    assert.ok(swap.swapped);
    assert.equal(text(await store.read('a')), 'one');
    const entry = await store.enqueue('q', 'name', bytes(''), lease.id);
    assert.deepEqual(await store.list('q'), [entry]);
    for await (const seen of store.watch('a')) {
      assert.equal(text(seen), 'one');
      break;
    }
    for await (const seen of store.watchList('q')) {
      assert.deepEqual(seen, [entry]);
      break;
    }
    await store.revokeLease(lease.id);
    assert.deepEqual(await store.list('q'), []);
  }),

  define('refuses wrong keys, names, counts and timeouts as mistakes, and does nothing', async (client) => {
    const { store } = client;
    const lease = await client.longLease();
    const call = client.call();
    const mistakes: readonly (() => Promise<unknown>)[] = [
      () => store.read('a//b', call),
      () => store.read('', call),
      () => store.list('/a', call),
      () => store.list('a/', call),
      () => store.enqueue('queued', 'na/me', bytes(''), lease.id, call),
      () => store.enqueue('queued/', 'name', bytes(''), lease.id, call),
      () => store.list('queued', { ...call, first: 0 }),
      () => store.list('queued', { ...call, last: 0 }),
      () => store.list('queued', { ...call, first: 1, last: 1 }),
      ...everyCall(client, lease).map((each) => () => each.call({ timeoutMs: 0 })),
    ];
    for (const mistake of mistakes) await assert.rejects(mistake(), isMistake, String(mistake));
    assert.equal(await client.read('swapped'), undefined);
    assert.deepEqual(await client.list('queued'), []);
    await client.renew(lease);
  }),
];
