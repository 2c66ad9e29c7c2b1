/**
 * Every kind of write, once with its answer lost after it was applied, and once lost before it
 * arrived.
 */

import assert from 'node:assert/strict';
import type { CallOptions, Change, Entry, Lease } from '@incumbent/core';
import { breakable, recover, type Breakable } from '../breakable-client.ts';
import type { Need, StoreCase } from '../case.ts';
import { bytes, text, type Client } from '../client.ts';
import { casesOf } from '../define.ts';
import { fails } from '../expect.ts';
import type { StoreHarness } from '../harness.ts';
import { LOSSES, loseNext, type Loss } from '../lost-write.ts';

const define = casesOf('unknown outcomes');

/**
 * The context of a write. `mine` is the lease of the client whose link fails, `theirs` that of the
 * other client, whose link works.
 */
interface Scene {
  readonly client: Client;
  readonly other: Client;
  readonly mine: Lease;
  readonly theirs: Lease;
}

interface Act {
  /** The write. Every call makes the same one. */
  readonly write: (options: CallOptions) => Promise<unknown>;
  /**
   * What keys hold before and after, in the form of `shown`. Keys that are left out are not
   * checked.
   */
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
}

interface Write {
  readonly what: string;
  readonly needs?: readonly Need[];
  /**
   * Whether the write succeeds when a caller that does not know the outcome repeats it. If not, the
   * second write reports that its expectation failed. `maybe`: where revisions restart, a key that
   * was created anew has its former revision.
   */
  readonly repeatable: boolean | 'maybe';
  readonly prepare: (scene: Scene) => Promise<Act>;
}

/** `value`, `value by mine` or `value by theirs`, or `-` if there is no such key. */
function shown(entry: Entry | undefined, { mine, theirs }: Scene): string {
  if (entry === undefined) return '-';
  const owner = entry.lease === mine.id ? ' by mine' : entry.lease === theirs.id ? ' by theirs' : '';
  return `${text(entry) ?? ''}${owner}`;
}

/** `q/name` is an entry of the queue. The store chooses its key. */
async function shows(scene: Scene, expected: Readonly<Record<string, string>>): Promise<void> {
  const queue = new Map((await scene.other.list('q')).map((entry) => [`q/${entry.name}`, entry]));
  const look = async (key: string): Promise<Entry | undefined> => (key.startsWith('q/') ? queue.get(key) : scene.other.read(key));
  const held = await Promise.all(Object.keys(expected).map(async (key) => [key, shown(await look(key), scene)]));
  assert.deepEqual(Object.fromEntries(held), expected);
}

/** An entry of the queue, for a swap that checks, updates or deletes it. */
async function queued(client: Client, name: string, lease: Lease): Promise<{ readonly key: string; readonly expect: string }> {
  const { key, revision } = await client.enqueue('q', name, lease);
  return { key, expect: revision };
}

/** A write that is one swap of `changes`. Afterwards the keys hold `after`. */
function swap(
  what: string,
  prepare: (scene: Scene) => Promise<Omit<Act, 'write'> & { readonly changes: readonly Change[] }>,
  { needs = [], repeatable = false }: Partial<Pick<Write, 'needs' | 'repeatable'>> = {},
): Write {
  return {
    what: `a swap that ${what}`,
    needs,
    repeatable,
    prepare: async (scene) => {
      const { changes, ...states } = await prepare(scene);
      return { ...states, write: (options) => scene.client.store.compareAndSwap(changes, options) };
    },
  };
}

const leases: readonly Write[] = [
  {
    what: 'a grant',
    repeatable: true,
    prepare: async ({ client, mine }) => {
      const { at } = client.leaseCall();
      return { write: (options) => client.store.grantLease(mine.ttlMs, { ...options, at }), before: {}, after: {} };
    },
  },
  {
    what: 'a renewal',
    repeatable: true,
    prepare: async ({ client, mine }) => {
      await client.create('a', 'one', mine);
      const here = { a: 'one by mine' };
      const write: Act['write'] = (options) => client.store.renewLease(mine.id, { ...client.leaseCall(), ...options });
      return { write, before: here, after: here };
    },
  },
  {
    what: 'a revocation',
    repeatable: true,
    prepare: async ({ client, mine }) => {
      await client.create('a', 'one', mine);
      await client.enqueue('q', 'entry', mine, 'two');
      const write: Act['write'] = (options) => client.store.revokeLease(mine.id, options);
      return { write, before: { a: 'one by mine', 'q/entry': 'two by mine' }, after: { a: '-', 'q/entry': '-' } };
    },
  },
  {
    what: 'an enqueue',
    repeatable: true,
    prepare: async ({ client, mine }) => {
      const write: Act['write'] = (options) => client.store.enqueue('q', 'entry', bytes('one'), mine.id, options);
      return { write, before: { 'q/entry': '-' }, after: { 'q/entry': 'one by mine' } };
    },
  },
];

const singles: readonly Write[] = [
  swap('makes a key', async () => ({
    changes: [{ key: 'a', expect: null, put: bytes('one') }],
    before: { a: '-' },
    after: { a: 'one' },
  })),
  swap('makes a key under a lease', async ({ mine }) => ({
    changes: [{ key: 'a', expect: null, put: bytes('one'), lease: mine.id }],
    before: { a: '-' },
    after: { a: 'one by mine' },
  })),
  swap('changes a key', async ({ client, mine }) => ({
    changes: [{ key: 'a', expect: await client.create('a', 'one', mine), put: bytes('two') }],
    before: { a: 'one by mine' },
    after: { a: 'two by mine' },
  })),
  swap('deletes a key', async ({ client, mine }) => ({
    changes: [{ key: 'a', expect: await client.create('a', 'one', mine), delete: true }],
    before: { a: 'one by mine' },
    after: { a: '-' },
  })),
  swap(
    'unbinds a key',
    async ({ client, mine }) => ({
      changes: [{ key: 'a', expect: await client.create('a', 'one', mine), put: bytes('two'), lease: null }],
      before: { a: 'one by mine' },
      after: { a: 'two' },
    }),
    { repeatable: 'maybe' },
  ),
];

/** The swaps of an election. */
const several: readonly Write[] = [
  swap('claims', async ({ client, mine }) => ({
    changes: [
      { key: 'leader', expect: null, put: bytes('me'), lease: mine.id },
      { key: 'term', expect: await client.create('term', '1'), put: bytes('2'), lease: null },
      await queued(client, 'me', mine),
      { key: 'q/last', expect: null },
    ],
    before: { leader: '-', term: '1', 'q/me': ' by mine' },
    after: { leader: 'me by mine', term: '2', 'q/me': ' by mine' },
  })),
  swap('resigns', async ({ client, mine }) => ({
    changes: [
      { key: 'term', expect: await client.create('term', '1'), put: bytes('1, resigned') },
      { key: 'leader', expect: await client.create('leader', 'me', mine), delete: true },
      { ...(await queued(client, 'me', mine)), delete: true },
    ],
    before: { leader: 'me by mine', term: '1', 'q/me': ' by mine' },
    after: { leader: '-', term: '1, resigned', 'q/me': '-' },
  })),
  swap(
    'hands over',
    async ({ client, other, mine, theirs }) => ({
      changes: [
        { key: 'leader', expect: await client.create('leader', 'me', mine), put: bytes('successor'), lease: theirs.id },
        { key: 'term', expect: await client.create('term', '1'), put: bytes('2') },
        { ...(await queued(other, 'successor', theirs)), put: bytes('marked') },
        { ...(await queued(client, 'me', mine)), delete: true },
      ],
      before: { leader: 'me by mine', term: '1', 'q/successor': ' by theirs', 'q/me': ' by mine' },
      after: { leader: 'successor by theirs', term: '2', 'q/successor': 'marked by theirs', 'q/me': '-' },
    }),
    { needs: ['assignableLease'] },
  ),
];

/**
 * Repeats the write when the link works. It either succeeds as if for the first time, or reports
 * that it was applied before.
 */
async function again({ write }: Act, { repeatable }: Write, isThere: boolean, { client }: Scene): Promise<void> {
  const answer = await write(client.call());
  if (repeatable === true || (repeatable === 'maybe' && !client.store.capabilities.revisionsSurviveDeletion)) return;
  assert.ok(typeof answer === 'object' && answer !== null && 'swapped' in answer);
  assert.equal(answer.swapped, !isThere);
}

/**
 * Makes one write of each kind, so that what a store does only once (create parents of keys, load
 * scripts) is done.
 */
async function warmUp(client: Client): Promise<void> {
  const lease = await client.longLease();
  await client.remove('warm', await client.create('warm', '', lease));
  await client.enqueue('q', 'warm', lease);
  await client.renew(lease);
  await client.revoke(lease);
}

async function run(write: Write, loss: Loss, other: Client, harness: StoreHarness): Promise<void> {
  const broken: Breakable = await breakable(harness);
  const { client, faults, short } = broken;
  await warmUp(client);
  const scene = { client, other, mine: await client.longLease(), theirs: await other.longLease() };
  const act = await write.prepare(scene);
  await shows(scene, act.before);
  await loseNext(loss, faults, harness);
  await fails(act.write(short), loss === 'answer' ? ['unknown'] : ['unknown', 'notSent']);
  await shows(scene, loss === 'answer' ? act.after : act.before);
  await recover(broken);
  await again(act, write, loss === 'answer', scene);
  await shows(scene, act.after);
}

export const lostWriteCases: readonly StoreCase[] = [...leases, ...singles, ...several].flatMap((write) =>
  LOSSES.map(({ loss, fault, how }) =>
    define(
      `${write.what} ${how}: unknown, ${loss === 'answer' ? 'and there' : 'and not there'}, and right when it is made again`,
      (other, harness) => run(write, loss, other, harness),
      { needs: write.needs ?? [], faults: [fault] },
    ),
  ),
);
