import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import { bytes, connect, text } from '../client.ts';
import { casesOf } from '../define.ts';
import { refused } from '../expect.ts';
import { times } from '../combinations.ts';

const define = casesOf('compareAndSwap');

/** Every character that a name may have. */
const ALL_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-';

export const swapLimitCases: readonly StoreCase[] = [
  define('an empty value is a value', async (client) => {
    const first = await client.create('a', '');
    const entry = await client.get('a');
    assert.equal(entry.value.length, 0);
    assert.equal(entry.revision, first);
    assert.ok(!(await client.swap({ key: 'a', expect: null, put: bytes('x') })).swapped, 'an empty value was taken for no key');
    await client.put('a', await client.put('a', first, 'full'), '');
    assert.equal((await client.get('a')).value.length, 0);
  }),

  define('a value may hold every byte', async (client) => {
    const value = Uint8Array.from(times(256));
    await client.swap({ key: 'a', expect: null, put: value });
    const read = (await client.get('a')).value;
    assert.ok(read instanceof Uint8Array);
    assert.deepEqual([...read], [...value]);
  }),

  define('a value is what it was when it was given, whatever the caller does to its bytes later', async (client) => {
    const value = bytes('before');
    const swap = client.swap({ key: 'a', expect: null, put: value });
    await swap;
    value.fill(0);
    assert.equal(text(await client.read('a')), 'before');
    (await client.get('a')).value.fill(0);
    assert.equal(text(await client.read('a')), 'before');
  }),

  define('takes a value of maxValueBytes', async (client) => {
    const { maxValueBytes } = client.store.capabilities;
    const value = new Uint8Array(maxValueBytes).fill(120);
    assert.ok((await client.swap({ key: 'a', expect: null, put: value })).swapped);
    const read = (await client.get('a')).value;
    assert.equal(Buffer.compare(read, value), 0);
  }),

  define(
    'takes two values of maxValueBytes, as in a handover, and shows a watch no other value',
    async (client, harness) => {
      const { slackMs } = harness;
      const { maxValueBytes } = client.store.capabilities;
      const other = await connect(harness);
      const [mine, theirs] = [await client.longLease(), await other.longLease()];
      const [before, after] = ['x'.repeat(maxValueBytes), 'y'.repeat(maxValueBytes)];
      const leader = await client.create('leader', before, mine);
      const term = await client.create('term', '1');
      const [own, successor] = [await client.enqueue('q', 'a', mine, before), await other.enqueue('q', 'b', theirs, after)];
      const watch = client.watch('leader');
      await watch.sees((entry) => text(entry) === before, 'the value before', slackMs);
      const put = bytes(after);
      const { swapped } = await client.swap(
        { key: 'leader', expect: leader, put, lease: theirs.id },
        { key: 'term', expect: term, put: bytes('2') },
        { key: successor.key, expect: successor.revision, put },
        { key: own.key, expect: own.revision, delete: true },
      );
      assert.ok(swapped);
      await watch.sees((entry) => text(entry) === after, 'the value after', slackMs);
      const others = watch.states.filter((entry) => text(entry) !== before && text(entry) !== after);
      assert.deepEqual(others, []);
      const [led, marked] = [await client.get('leader'), await client.get(successor.key)];
      assert.deepEqual([led.lease, text(led) === after, text(marked) === after], [theirs.id, true, true]);
      assert.equal(await client.read(own.key), undefined);
    },
    { needs: ['assignableLease'] },
  ),

  define('refuses a value beyond maxValueBytes as TOO_LARGE, and changes nothing', async (client) => {
    const value = new Uint8Array(client.store.capabilities.maxValueBytes + 1);
    await refused(client.swap({ key: 'b', expect: null, put: bytes('one') }, { key: 'a', expect: null, put: value }), 'TOO_LARGE');
    const lease = await client.longLease();
    await refused(client.store.enqueue('q', 'a', value, lease.id, client.call()), 'TOO_LARGE');
    assert.deepEqual([await client.read('a'), await client.read('b'), await client.names('q')], [undefined, undefined, []]);
  }),

  define('takes as many changes as maxChanges says', async (client) => {
    const changes = times(client.store.capabilities.maxChanges).map((i) => ({ key: `many/k${i}`, expect: null, put: bytes(`${i}`) }));
    const result = await client.swap(...changes);
    assert.ok(result.swapped);
    assert.equal((await client.list('many')).length, changes.length);
  }),

  define('refuses more changes than maxChanges as TOO_LARGE, and changes nothing', async (client) => {
    const changes = times(client.store.capabilities.maxChanges + 1).map((i) => ({ key: `many/k${i}`, expect: null, put: bytes(`${i}`) }));
    await refused(client.swap(...changes), 'TOO_LARGE');
    assert.deepEqual(await client.list('many'), []);
  }),

  define('keys may have every allowed character, long names and depth', async (client) => {
    const keys = [
      ALL_CHARACTERS,
      `a/${ALL_CHARACTERS}/b`,
      'x'.repeat(128),
      'a/b/c/d/e/f/g/h',
      'a/../b',
      'a/./b',
      '..',
      '.',
      '~',
      '-',
      '_',
      '0',
    ];
    for (const key of keys) await client.create(key, `value of ${key}`);
    for (const key of keys) {
      const entry = await client.get(key);
      assert.deepEqual([entry.key, entry.name, text(entry)], [key, key.slice(key.lastIndexOf('/') + 1), `value of ${key}`]);
    }
    assert.deepEqual((await client.list('a/..')).map(text), ['value of a/../b']);
  }),

  define('takes maxChanges changes below as many prefixes', async (client) => {
    const keys = times(client.store.capabilities.maxChanges).map((i) => `prefix${i}/names/k`);
    const result = await client.swap(...keys.map((key) => ({ key, expect: null, put: bytes(key) })));
    assert.ok(result.swapped);
    const read = await Promise.all(keys.map((key) => client.read(key)));
    assert.deepEqual(read.map(text), keys);
  }),
];
