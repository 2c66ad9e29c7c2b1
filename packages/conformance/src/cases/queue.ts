import assert from 'node:assert/strict';
import type { Entry } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { bytes, connect, text, type Client } from '../client.ts';
import { casesOf } from '../define.ts';
import { expiry, refused } from '../expect.ts';
import { cycle, times, together } from '../combinations.ts';

const define = casesOf('queue');

const names = (entries: readonly Entry[]): readonly string[] => entries.map((entry) => entry.name);

/** A queue of five, `e0` to `e4`. */
async function five(client: Client): Promise<readonly [Entry, Entry, Entry, Entry, Entry]> {
  const lease = await client.longLease();
  const add = (i: number): Promise<Entry> => client.enqueue('q', `e${i}`, lease, `value ${i}`);
  return [await add(0), await add(1), await add(2), await add(3), await add(4)];
}

export const queueCases: readonly StoreCase[] = [
  define('entries stand in the order of their creation, whoever made them', async (client, harness) => {
    const clients = [client, await connect(harness), await connect(harness)];
    const leases = await Promise.all(clients.map((each) => each.longLease()));
    const added: Entry[] = [];
    for (const i of times(15)) added.push(await cycle(clients, i).enqueue('q', `z${(i * 7) % 15}`, cycle(leases, i)));
    const listed = await client.list('q');
    assert.deepEqual(names(listed), names(added));
    assert.deepEqual(
      listed.map((entry) => entry.order),
      added.map((entry) => entry.order),
    );
    assertRising(listed);
  }),

  define('entries that several clients make at once all get a place of their own', async (client, harness) => {
    const clients = await Promise.all(times(4).map(() => connect(harness)));
    const leases = await Promise.all(clients.map((each) => each.longLease()));
    await Promise.all(times(40).map((i) => cycle(clients, i).enqueue('q', `e${i}`, cycle(leases, i))));
    const listed = await client.list('q');
    assert.equal(listed.length, 40);
    assertRising(listed);
  }),

  define('an entry is what it was made of', async (client) => {
    const lease = await client.longLease();
    const entry = await client.enqueue('q', 'name', lease, 'value');
    assert.deepEqual({ name: entry.name, text: text(entry), lease: entry.lease }, { name: 'name', text: 'value', lease: lease.id });
    assert.ok(entry.key.startsWith('q/'));
    assert.deepEqual(await client.list('q'), [entry]);
    assert.deepEqual(await client.read(entry.key), entry);
  }),

  define('an entry can be changed and deleted at its revision, and changing it does not move it', async (client) => {
    const [first, second] = await five(client);
    const changed = await client.put(first.key, first.revision, 'changed');
    assert.deepEqual(await client.names('q'), ['e0', 'e1', 'e2', 'e3', 'e4']);
    assert.equal((await client.get(first.key)).order, first.order);
    await client.remove(first.key, changed);
    await client.remove(second.key, second.revision);
    assert.deepEqual(await client.names('q'), ['e2', 'e3', 'e4']);
  }),

  define('enqueue is idempotent for one name and lease', async (client) => {
    const lease = await client.longLease();
    const first = await client.enqueue('q', 'name', lease, 'one');
    await client.enqueue('q', 'other', lease);
    assert.deepEqual(await client.enqueue('q', 'name', lease, 'two'), first);
    assert.deepEqual(await client.names('q'), ['name', 'other']);
  }),

  define('enqueue is idempotent when asked several times at once', async (client) => {
    const lease = await client.longLease();
    const entries = await Promise.all(times(8).map(() => client.enqueue('q', 'name', lease, 'one')));
    assert.equal(new Set(entries.map((entry) => entry.key)).size, 1);
    assert.deepEqual(await client.names('q'), ['name']);
  }),

  define('enqueue answers with the entry that is there, whatever its value has become', async (client) => {
    const lease = await client.longLease();
    const first = await client.enqueue('q', 'name', lease, 'one');
    const revision = await client.put(first.key, first.revision, 'two');
    const again = await client.enqueue('q', 'name', lease, 'one');
    assert.deepEqual([text(again), again.revision, again.order], ['two', revision, first.order]);
  }),

  define('an entry that was deleted is made anew at the end', async (client) => {
    const lease = await client.longLease();
    const first = await client.enqueue('q', 'a', lease);
    await client.enqueue('q', 'b', lease);
    await client.remove(first.key, first.revision);
    const again = await client.enqueue('q', 'a', lease);
    assert.deepEqual(await client.names('q'), ['b', 'a']);
    assert.ok(again.order > first.order);
  }),

  define('enqueue never answers with an entry of another lease', async (client) => {
    const [lease, other] = [await client.longLease(), await client.longLease()];
    const theirs = await client.enqueue('q', 'name', other, 'theirs');
    const call = client.enqueue('q', 'name', lease, 'mine');
    const [settled] = await Promise.allSettled([call]);
    // A store whose keys contain the lease has room for both entries.
    if (settled.status === 'fulfilled') assert.equal(settled.value.lease, lease.id, 'the lease of the entry that enqueue returned');
    else await refused(call, 'STORE_FAILED');
    assert.deepEqual(await client.read(theirs.key), theirs, 'enqueue has changed the entry of the other lease');
  }),

  define('enqueue under a lease that is gone is refused as LEASE_EXPIRED, and adds nothing', async (client, harness) => {
    const [revoked, expired] = [await client.longLease(), await client.shortLease()];
    await client.create('a', 'one', expired);
    await client.revoke(revoked);
    await refused(client.enqueue('q', 'name', revoked), 'LEASE_EXPIRED');
    await expiry(client, harness, 'a', expired);
    await refused(client.enqueue('q', 'name', expired), 'LEASE_EXPIRED');
    assert.deepEqual(await client.list('q'), []);
  }),

  define('enqueue shows a look, if it shows any, the entries ahead of the new one and the other key', async (client, harness) => {
    const entries = await five(client);
    const lease = await client.longLease();
    await client.create('term', 'seven');
    const { entry, seen } = await client.enqueueLooking('q', 'new', lease, { key: 'term', last: 5 });
    const ahead = await client.list('q', { before: entry, last: 5, values: false });
    assert.deepEqual(names(ahead), names(entries));
    if (harness.looks === true) assert.equal(seen.length, 1, 'the store has shown nothing');
    assert.deepEqual(seen, seen.length === 0 ? [] : [{ ahead, found: await client.get('term') }]);
    const again = await client.enqueueLooking('q', 'new', lease, { key: 'term', last: 5 });
    assert.deepEqual(again, { entry, seen: [] });
    const short = await client.enqueueLooking('q', 'last', lease, { key: 'term', last: 2 });
    assert.deepEqual(
      short.seen.map((look) => names(look.ahead)),
      short.seen.length === 0 ? [] : [['e4', 'new']],
    );
    const first = await client.enqueueLooking('empty', 'new', lease, { key: 'nothing', last: 3 });
    assert.deepEqual(first.seen, seen.length === 0 ? [] : [{ ahead: [], found: undefined }]);
  }),

  define('enqueue shows a look of the moment in which it adds the entry, whoever else adds one', async (client, harness) => {
    const clients = await Promise.all(times(4).map(() => connect(harness)));
    const leases = await Promise.all(clients.map((each) => each.longLease()));
    const look = { key: 'term', last: 40 };
    const added = await Promise.all(times(40).map((i) => cycle(clients, i).enqueueLooking('q', `e${i}`, cycle(leases, i), look)));
    const listed = await client.list('q');
    for (const { entry, seen } of added) {
      const ahead = listed.filter(({ order }) => order < entry.order);
      assert.deepEqual(
        seen.map(({ ahead: shown }) => names(shown)),
        seen.length === 0 ? [] : [names(ahead)],
      );
    }
  }),

  define('entries vanish with their lease, and the others keep their order', async (client) => {
    const [lease, other] = [await client.longLease(), await client.longLease()];
    for (const i of times(6)) await client.enqueue('q', `e${i}`, i % 2 === 0 ? lease : other);
    await client.revoke(lease);
    assert.deepEqual(await client.names('q'), ['e1', 'e3', 'e5']);
  }),

  define('names may be long and have every allowed character', async (client) => {
    const lease = await client.longLease();
    const all = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-';
    const given = [all, 'x'.repeat(200), 'a-0000000001', '.', '..', '~', '0'];
    for (const name of given) assert.equal((await client.enqueue('q', name, lease)).name, name);
    assert.deepEqual(await client.names('q'), given);
  }),

  define('list: before an entry, the first few, the last few, and both', async (client) => {
    const [first, , third, , last] = await five(client);
    assert.deepEqual(await client.names('q', { before: third }), ['e0', 'e1']);
    assert.deepEqual(await client.names('q', { before: first }), []);
    assert.deepEqual(await client.names('q', { last: 2 }), ['e3', 'e4']);
    assert.deepEqual(await client.names('q', { last: 10 }), ['e0', 'e1', 'e2', 'e3', 'e4']);
    assert.deepEqual(await client.names('q', { before: last, last: 1 }), ['e3']);
    assert.deepEqual(await client.names('q', { before: third, last: 10 }), ['e0', 'e1']);
    assert.deepEqual(await client.names('q', { first: 2 }), ['e0', 'e1']);
    assert.deepEqual(await client.names('q', { first: 10 }), ['e0', 'e1', 'e2', 'e3', 'e4']);
    assert.deepEqual(await client.names('q', { before: third, first: 1 }), ['e0']);
    assert.deepEqual(await client.names('q', { before: first, first: 1 }), []);
  }),

  define('list: before an entry that is gone, and one that has changed', async (client) => {
    const [first, second, third] = await five(client);
    await client.remove(third.key, third.revision);
    assert.deepEqual(await client.names('q', { before: third, last: 1 }), ['e1']);
    await client.put(first.key, first.revision, 'changed');
    assert.deepEqual(await client.names('q', { before: second }), ['e0']);
  }),

  define('list: without values and revisions, all else is there', async (client) => {
    const entries = await five(client);
    const listed = await client.list('q', { values: false });
    assert.deepEqual(
      listed,
      entries.map((entry) => ({ ...entry, value: listed[0]?.value, revision: '' })),
    );
    assert.deepEqual(
      listed.map((entry) => entry.value.length),
      [0, 0, 0, 0, 0],
    );
  }),

  define('list: what stands under one prefix, at any depth, and under no other that begins alike', async (client) => {
    const lease = await client.longLease();
    for (const key of ['a/x', 'ab/x', 'a/b/y', 'a.b/x', 'a-/x', 'b/a/x']) await client.create(key, key);
    await client.enqueue('a/b', 'z', lease, 'a/b/z');
    assert.deepEqual((await client.list('a')).map(text), ['a/x', 'a/b/y', 'a/b/z']);
    assert.deepEqual((await client.list('a/b')).map(text), ['a/b/y', 'a/b/z']);
    assert.deepEqual((await client.list('ab')).map(text), ['ab/x']);
    assert.deepEqual(await client.list('nothing'), []);
    assert.deepEqual(await client.list('a/x'), []);
  }),

  define('list: a key that moves from one level to another is told once, however often it moves', async (_, harness) => {
    // Each of the two tasks leaves the store little time for the other.
    const slowHarness = { ...harness, timeoutMs: 10 * harness.timeoutMs };
    const [client, mover] = [await connect(slowHarness), await connect(slowHarness)];
    const places = ['m/one/key', 'm/key', 'm/two/key'];
    let revision = await mover.create(cycle(places, 0), 'value');
    let isMoving = true;
    const move = async (): Promise<void> => {
      for (const i of times(30)) {
        const gone = { key: cycle(places, i), expect: revision, delete: true } as const;
        const result = await mover.swap(gone, { key: cycle(places, i + 1), expect: null, put: bytes('value') });
        assert.ok(result.swapped, 'the key could not be moved');
        revision = result.revisions[1] ?? '';
      }
    };
    const moving = move().finally(() => {
      isMoving = false;
    });
    const listing = async (): Promise<void> => {
      while (isMoving) assert.deepEqual((await client.list('m')).map(text), ['value']);
    };
    await together([moving, listing()], 2, (both) => both);
  }),

  define('list: all of a queue of 600 entries and 5 MB, or as much as the store says, in order', async (client) => {
    const lease = await client.longLease();
    const { maxTotalBytes = Infinity } = client.store.capabilities;
    // Half of what the store may hold, which includes the keys.
    const value = 'v'.repeat(Math.min(8_192, Math.floor(maxTotalBytes / 1_200)));
    await together(times(600), 16, async (i) => {
      await client.enqueue('q', `e${i}`, lease, value);
    });
    const listed = await client.list('q');
    assert.equal(listed.length, 600);
    assertRising(listed);
    assert.ok(listed.every((entry) => Buffer.compare(entry.value, bytes(value)) === 0));
    assert.deepEqual(await client.list('q', { last: 500 }), listed.slice(100));
    await client.revoke(lease);
  }),
];

function assertRising(entries: readonly Entry[]): void {
  for (const [i, entry] of entries.entries()) {
    const former = entries[i - 1];
    if (former !== undefined) assert.ok(entry.order > former.order, `${entry.name} stands behind ${former.name}, and its order does not`);
  }
}
