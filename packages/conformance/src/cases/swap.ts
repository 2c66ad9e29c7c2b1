import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { bytes, text, type Client } from '../client.ts';
import { casesOf } from '../define.ts';
import type { StoreCase } from '../case.ts';
import type { Change, Revision } from '@incumbent/core';

const define = casesOf('compareAndSwap');

/** Expects the swap to be refused because of its first change. Returns what the store found. */
async function refusal(client: Client, change: Change): Promise<{ text: string | undefined; revision: Revision | undefined }> {
  const result = await client.swap(change);
  assert.ok(!result.swapped, 'swapped against its expectation');
  assert.deepEqual(
    result.failed.map((failure) => failure.index),
    [0],
  );
  const current = result.failed[0]?.current;
  return { text: text(current), revision: current?.revision };
}

/** Swaps of one key: every expectation and every action. */
export const swapCases: readonly StoreCase[] = [
  define('creates a key that is absent', async (client) => {
    const revision = await client.create('a', 'one');
    const entry = await client.get('a');
    assert.deepEqual({ key: entry.key, name: entry.name, text: text(entry) }, { key: 'a', name: 'a', text: 'one' });
    assert.equal(entry.revision, revision);
    assert.equal(entry.lease, undefined);
  }),

  define('refuses to create a key that is there, and says what is', async (client) => {
    const revision = await client.create('a', 'one');
    assert.deepEqual(await refusal(client, { key: 'a', expect: null, put: bytes('two') }), { text: 'one', revision });
    assert.equal(text(await client.read('a')), 'one');
  }),

  define('writes what it was given at the call, though the caller uses the bytes again', async (client) => {
    const lease = await client.longLease();
    // The slice() of a Buffer shares its memory.
    const mine = Buffer.from(bytes('mine'));
    const calls = [
      client.store.compareAndSwap([{ key: 'a', expect: null, put: mine }], client.call()),
      client.store.enqueue('q', 'name', mine, lease.id, client.call()),
    ];
    mine.fill(0);
    await Promise.all(calls);
    assert.deepEqual([text(await client.read('a')), text((await client.list('q'))[0])], ['mine', 'mine']);
  }),

  define('swaps a value at its revision', async (client) => {
    const first = await client.create('a', 'one');
    const second = await client.put('a', first, 'two');
    const entry = await client.get('a');
    assert.equal(text(entry), 'two');
    assert.equal(entry.revision, second);
  }),

  define('refuses a swap at an old revision, and says what is there', async (client) => {
    const first = await client.create('a', 'one');
    const second = await client.put('a', first, 'two');
    assert.deepEqual(await refusal(client, { key: 'a', expect: first, put: bytes('three') }), { text: 'two', revision: second });
    assert.equal(text(await client.read('a')), 'two');
  }),

  define('refuses a swap of a key that is gone, and says that there is none', async (client) => {
    const first = await client.create('a', 'one');
    await client.remove('a', first);
    const none = { text: undefined, revision: undefined };
    assert.deepEqual(await refusal(client, { key: 'a', expect: first, put: bytes('two') }), none);
    assert.equal(await client.read('a'), undefined);
  }),

  define('deletes a key at its revision', async (client) => {
    const revision = await client.create('a', 'one');
    assert.deepEqual(await client.swap({ key: 'a', expect: revision, delete: true }), { swapped: true, revisions: [undefined] });
    assert.equal(await client.read('a'), undefined);
  }),

  define('refuses to delete a key at an old revision', async (client) => {
    const first = await client.create('a', 'one');
    const second = await client.put('a', first, 'two');
    assert.deepEqual(await refusal(client, { key: 'a', expect: first, delete: true }), { text: 'two', revision: second });
    assert.equal(text(await client.read('a')), 'two');
  }),

  define('refuses to delete a key that is gone', async (client) => {
    const revision = await client.create('a', 'one');
    await client.remove('a', revision);
    assert.deepEqual(await refusal(client, { key: 'a', expect: revision, delete: true }), { text: undefined, revision: undefined });
  }),

  define('a check that holds changes nothing', async (client) => {
    const revision = await client.create('a', 'one');
    const result = await client.swap({ key: 'a', expect: revision }, { key: 'b', expect: null });
    assert.deepEqual(result, { swapped: true, revisions: [undefined, undefined] });
    assert.equal((await client.get('a')).revision, revision);
    assert.equal(await client.read('b'), undefined);
  }),

  define('a check that fails says what is there', async (client) => {
    const revision = await client.create('a', 'one');
    assert.deepEqual(await refusal(client, { key: 'a', expect: null }), { text: 'one', revision });
    await client.remove('a', revision);
    assert.deepEqual(await refusal(client, { key: 'a', expect: revision }), { text: undefined, revision: undefined });
  }),

  define('a revision changes with every change, to the same value too', async (client) => {
    const seen = new Set<Revision>([await client.create('a', 'same')]);
    for (let i = 0; i < 20; i += 1) seen.add(await client.put('a', (await client.get('a')).revision, 'same'));
    assert.equal(seen.size, 21);
  }),

  define('a revision stays while other keys change', async (client) => {
    const revision = await client.create('a', 'one');
    await client.create('b', 'one');
    await client.create('a.b', 'one');
    assert.equal((await client.get('a')).revision, revision);
    await client.put('a', revision, 'two');
  }),

  define(
    'a key that is made again never has a revision that it had before',
    async (client) => {
      const seen = new Set<Revision>();
      for (let i = 0; i < 10; i += 1) {
        const created = await client.create('a', 'one');
        const changed = await client.put('a', created, 'two');
        await client.remove('a', changed);
        seen.add(created).add(changed);
      }
      assert.equal(seen.size, 20);
    },
    { needs: ['revisionsSurviveDeletion'] },
  ),

  define('a key that is made again is a new one: its order rises', async (client) => {
    const first = await client.create('q/a', 'one');
    const before = await client.get('q/a');
    await client.create('q/b', 'one');
    await client.remove('q/a', first);
    await client.create('q/a', 'two');
    assert.ok((await client.get('q/a')).order > before.order, 'the order did not rise');
    assert.deepEqual(await client.names('q'), ['b', 'a']);
  }),

  define('refuses no changes at all, and the same key twice, as mistakes', async (client) => {
    await assert.rejects(client.swap(), RangeError);
    const twice: Change = { key: 'a', expect: null, put: bytes('one') };
    await assert.rejects(client.swap(twice, { key: 'a', expect: null }), RangeError);
    assert.equal(await client.read('a'), undefined);
  }),

  define('refuses what TypeScript would have refused, and answers the calls beside it as if nothing had been', async (client) => {
    await client.create('taken', 'one');
    const mistakes: readonly Readonly<Record<string, unknown>>[] = [
      { expect: undefined, put: bytes('two') },
      { expect: 1, put: bytes('two') },
      { expect: null, put: 'two' },
      { expect: null, put: bytes('two'), lease: 7 },
    ];
    for (const mistake of mistakes) {
      const refused = assert.rejects(client.swap(mistakenly('a', mistake)), /^(?:TypeError|RangeError): (?:expect|put|lease) is /);
      const taken = client.swap({ key: 'taken', expect: null, put: bytes('two') });
      const read = client.read('taken');
      await refused;
      assert.equal((await taken).swapped, false);
      assert.equal((await read)?.key, 'taken');
    }
    assert.equal(await client.read('a'), undefined);
  }),
];

/** A change that an untyped caller may pass. */
function mistakenly(key: string, fields: Readonly<Record<string, unknown>>): Change {
  const change: Change = { key, expect: null };
  return Object.assign(change, fields);
}
