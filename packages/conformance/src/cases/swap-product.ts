/**
 * Swaps of several keys: every combination of expectation and action, so that "all or nothing" is
 * tested completely and not by samples.
 */

import assert from 'node:assert/strict';
import type { Change, Entry, Key, Revision, SwapResult } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { bytes, text, type Client } from '../client.ts';
import { casesOf } from '../define.ts';
import { together, tuples } from '../combinations.ts';

/** What exists, what the change expects, and what it does. */
interface Part {
  readonly there: 'never made' | 'made' | 'changed' | 'deleted';
  readonly expects: 'absent' | 'first revision';
  readonly action: 'put' | 'delete' | 'check';
  readonly holds: boolean;
}

/**
 * Absent as expected, at the expected revision, and at a newer revision, each with every possible
 * action.
 */
const MAIN: readonly Part[] = [
  { there: 'never made', expects: 'absent', action: 'put', holds: true },
  { there: 'never made', expects: 'absent', action: 'check', holds: true },
  { there: 'made', expects: 'first revision', action: 'put', holds: true },
  { there: 'made', expects: 'first revision', action: 'delete', holds: true },
  { there: 'made', expects: 'first revision', action: 'check', holds: true },
  { there: 'changed', expects: 'first revision', action: 'put', holds: false },
  { there: 'changed', expects: 'first revision', action: 'delete', holds: false },
  { there: 'changed', expects: 'first revision', action: 'check', holds: false },
];

/**
 * The expectations of `MAIN`, and in addition a key that is present or absent against the
 * expectation.
 */
const EVERY: readonly Part[] = [
  ...MAIN,
  { there: 'made', expects: 'absent', action: 'put', holds: false },
  { there: 'made', expects: 'absent', action: 'check', holds: false },
  { there: 'deleted', expects: 'first revision', action: 'put', holds: false },
  { there: 'deleted', expects: 'first revision', action: 'delete', holds: false },
  { there: 'deleted', expects: 'first revision', action: 'check', holds: false },
];

/** The state before the swap: every key's entry, and the first revision of each. */
interface World {
  readonly keys: readonly Key[];
  readonly entries: ReadonlyMap<Key, Entry>;
  readonly first: readonly (Revision | undefined)[];
}

async function prepare(client: Client, prefix: Key, parts: readonly Part[]): Promise<World> {
  const keys = parts.map((_, index) => `${prefix}/k${index}`);
  const first: (Revision | undefined)[] = parts.map(() => undefined);
  for (const [index, part] of parts.entries()) {
    if (part.there !== 'never made') first[index] = await client.create(keyAt(keys, index), 'first');
  }
  for (const [index, part] of parts.entries()) {
    if (part.there === 'changed') await client.put(keyAt(keys, index), first[index] ?? null, 'second');
    if (part.there === 'deleted') await client.remove(keyAt(keys, index), first[index] ?? '');
  }
  return { keys, first, entries: await snapshot(client, prefix) };
}

async function snapshot(client: Client, prefix: Key): Promise<ReadonlyMap<Key, Entry>> {
  return new Map((await client.list(prefix)).map((entry) => [entry.key, entry]));
}

function keyAt(keys: readonly Key[], index: number): Key {
  const key = keys[index];
  assert.ok(key !== undefined);
  return key;
}

function changeOf(part: Part, key: Key, first: Revision | undefined): Change {
  const expect = part.expects === 'absent' ? null : (first ?? null);
  switch (part.action) {
    case 'put':
      return { key, expect, put: bytes('put') };
    case 'delete':
      assert.ok(expect !== null);
      return { key, expect, delete: true };
    case 'check':
      return { key, expect };
    default:
      return part.action satisfies never;
  }
}

async function tryOut(client: Client, prefix: Key, parts: readonly Part[]): Promise<void> {
  const before = await prepare(client, prefix, parts);
  const result = await client.swap(...parts.map((part, index) => changeOf(part, keyAt(before.keys, index), before.first[index])));
  const after = await snapshot(client, prefix);
  const title = parts.map((part) => `${part.action} a key ${part.there}, expecting ${part.expects}`).join('; ');
  assert.equal(
    result.swapped,
    parts.every((part) => part.holds),
    title,
  );
  if (result.swapped) assertAll(parts, before, result, after, title);
  else assertNothing(parts, before, result, after, title);
}

type Swapped = Extract<SwapResult, { swapped: true }>;
type Refused = Extract<SwapResult, { swapped: false }>;

function assertAll(parts: readonly Part[], before: World, result: Swapped, after: ReadonlyMap<Key, Entry>, title: string): void {
  assert.equal(result.revisions.length, parts.length, title);
  for (const [index, { action }] of parts.entries()) {
    const key = keyAt(before.keys, index);
    const entry = after.get(key);
    if (action === 'check') assert.deepEqual(entry, before.entries.get(key), title);
    if (action === 'delete') assert.equal(entry, undefined, title);
    if (action === 'put') assert.equal(text(entry), 'put', title);
    assert.equal(result.revisions[index], action === 'put' ? entry?.revision : undefined, `the revisions do not align: ${title}`);
  }
}

function assertNothing(parts: readonly Part[], before: World, result: Refused, after: ReadonlyMap<Key, Entry>, title: string): void {
  assert.deepEqual(after, before.entries, `a refused swap changed something: ${title}`);
  assert.ok(result.failed.length > 0, `no failed change is named: ${title}`);
  for (const { index, current } of result.failed) {
    assert.equal(parts[index]?.holds, false, `change ${index} is said to have failed: ${title}`);
    assert.deepEqual(current, before.entries.get(keyAt(before.keys, index)), `what change ${index} met: ${title}`);
  }
}

const define = casesOf('compareAndSwap');

/** This many swaps run at the same time, each on keys of its own. */
const AT_ONCE = 16;

export const swapProductCases: readonly StoreCase[] = [
  define('two keys: all or nothing, for every mix of expectation and action', async (client) => {
    await together(tuples(EVERY, 2), AT_ONCE, (parts, index) => tryOut(client, `p${index}`, parts));
  }),

  define('three keys: all or nothing, for every mix of expectation and action', async (client) => {
    await together(tuples(MAIN, 3), AT_ONCE, (parts, index) => tryOut(client, `p${index}`, parts));
  }),
];
