/**
 * Checks of what callers pass to a store: a programmer's mistakes, told as `RangeError` or
 * `TypeError` before anything is sent.
 */

import { StoreError } from '../base/errors.ts';
import { invalidOption, invalidSecret, invalidText } from '../base/validate.ts';
import type { CallOptions, Change, Entry, Key, StoreCapabilities } from './contract.ts';

const PATH = /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

/** What a path is, to complete the sentence "must be …". */
export const PATH_RULE = 'names of A-Z a-z 0-9 . _ ~ -, separated by /';

export function isPath(text: string): boolean {
  return PATH.test(text);
}

/** A key, a prefix or a namespace. */
export function checkPath(what: string, path: unknown): string {
  if (typeof path === 'string' && PATH.test(path)) return path;
  throw invalidText(what, path, PATH_RULE);
}

/** One name of a path. */
export function checkPart(what: string, name: unknown): string {
  if (typeof name === 'string' && PATH.test(name) && !name.includes('/')) return name;
  throw invalidText(what, name, 'one name of A-Z a-z 0-9 . _ ~ -');
}

export function checkTime(what: string, ms: unknown): void {
  if (typeof ms === 'number' && ms > 0 && ms < Infinity) return;
  throw invalidOption(what, ms, 'a number above 0');
}

export function checkCall(options: CallOptions): void {
  checkTime('timeoutMs', options.timeoutMs);
}

/** At least one change, and each key once. */
export function checkChanges(changes: readonly Change[]): void {
  if (changes.length === 0) throw invalidOption('changes', changes.length, 'at least one');
  const keys = new Set<Key>();
  for (const change of changes) {
    const { key } = change;
    checkPath('key', key);
    if (keys.has(key)) throw invalidText('key', key, 'in one change only of a swap');
    keys.add(key);
    checkChange(change);
  }
}

const RESERVED = /^(elections|members|groups)(\/|$)/;

/**
 * The changes of a leader, which the store gets together with one more, the guard. Off the keys of
 * the SDK.
 */
export function checkFenced(changes: readonly Change[], { maxChanges }: StoreCapabilities): void {
  for (const change of changes) {
    const { key } = change;
    if (typeof key !== 'string' || key === '') throw invalidText('key', key, 'a key of the store');
    if (RESERVED.test(key)) throw invalidText('key', key, 'outside elections/, members/ and groups/, which the SDK keeps');
    checkChange(change);
  }
  const most = maxChanges - 1;
  if (changes.length <= most) return;
  const why = `the store allows ${maxChanges}, and the guard is one`;
  throw new StoreError('TOO_LARGE', 'refused', `${changes.length} changes in one swap of a leader: ${most} are allowed (${why})`);
}

/** What TypeScript would have said of a change. */
function checkChange(change: Change): void {
  const { expect } = change;
  if (expect !== null && typeof expect !== 'string')
    throw invalidOption('expect', expect, 'a revision, or null for "there is no such key"');
  if (!('put' in change)) return;
  const { put, lease } = change;
  if (!(put instanceof Uint8Array)) throw invalidOption('put', put, 'a Uint8Array (new TextEncoder().encode(text))');
  if (lease !== undefined && lease !== null && typeof lease !== 'string')
    throw invalidOption('lease', lease, "the id of a lease, null, or 'keep'");
}

/** How much of it: `ListOptions` says. */
export interface Part {
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

/** Throws a `RangeError` unless `first`, or `last`, is a number of entries. */
export function checkListing({ first, last }: Part): void {
  for (const [name, count] of Object.entries({ first, last })) {
    if (count !== undefined && !(Number.isSafeInteger(count) && count > 0)) throw invalidOption(name, count, 'an integer above 0');
  }
  if (first !== undefined && last !== undefined) throw invalidOption('last', last, 'absent beside `first`');
}

/** Of what stands in the order of creation, the first ones, the last ones, or all. */
export function someOf<T>(all: readonly T[], { first, last }: Part): readonly T[] {
  if (first !== undefined) return all.slice(0, first);
  return last === undefined ? all : all.slice(Math.max(all.length - last, 0));
}

/** An entry as `values: false` asks for it: without its value and revision. */
export function withoutValue(entry: Entry): Entry {
  return { ...entry, value: new Uint8Array(), revision: '' };
}

export function checkStore(store: unknown): void {
  if (typeof store === 'object' && store !== null && 'capabilities' in store && 'compareAndSwap' in store) return;
  // A URL in its place has the password in it.
  throw invalidSecret('store', store, 'an open store, as openStore(url) or openEtcd(url) resolve with (await it)');
}
