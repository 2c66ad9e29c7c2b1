/**
 * Checks of the arguments of store calls. Every check throws a `RangeError` or `TypeError` with the
 * code `INVALID_OPTION`, before a request is sent.
 */

import { checkAbortSignal } from '../async/abort.ts';
import { StoreError } from '../base/errors.ts';
import { describeHidden } from '../base/redact.ts';
import { checkKnown, checkNumber, invalidOption, invalidSecret, invalidText } from '../base/validate.ts';
import type { CallOptions, Change, Entry, Key, LeaseId, QueueLook, Store, StoreCapabilities, TimedCall } from './contract.ts';

const PATH = /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

/** The rule for a path. Completes the sentence "must be …". */
export const PATH_RULE = 'names of A-Z a-z 0-9 . _ ~ -, separated by /';

/** True if the text is a valid key, prefix or namespace. */
export function isPath(text: string): boolean {
  return PATH.test(text);
}

/**
 * Returns the path of a key, a prefix or a namespace.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if it breaks {@link PATH_RULE}.
 */
export function checkPath(what: string, path: unknown): string {
  if (typeof path === 'string' && PATH.test(path)) return path;
  throw invalidText(what, path, PATH_RULE);
}

/** What `enqueue` adds: an entry under `prefix`, bound to the lease. */
export interface NewEntry {
  readonly prefix: Key;
  readonly name: string;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
}

/**
 * Returns the key of an entry that `enqueue` adds: its name under the prefix.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` if one of them breaks {@link PATH_RULE}, or if
 * the name has a `/`.
 */
export function checkEntryKey(prefix: unknown, name: unknown): Key {
  const path = checkPath('prefix', prefix);
  if (typeof name === 'string' && PATH.test(name) && !name.includes('/')) return `${path}/${name}`;
  throw invalidText('name', name, 'one name of A-Z a-z 0-9 . _ ~ -');
}

/** The last name of a key, which is {@link Entry.name}. */
export function nameOfKey(key: Key): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/**
 * Checks a duration in ms.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` unless it is a finite number above 0.
 */
export function checkDuration(what: string, ms: unknown): void {
  if (typeof ms === 'number' && ms > 0 && ms < Infinity) return;
  throw invalidOption(what, ms, 'a number above 0');
}

/**
 * Checks the ttl of a new lease, in ms. `maxMs` is the longest one that the store grants.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` unless it is a number above 0 and at most
 * `maxMs`.
 */
export function checkTtl(ttlMs: unknown, maxMs: number): void {
  if (typeof ttlMs === 'number' && ttlMs > 0 && ttlMs <= maxMs) return;
  throw invalidOption('ttlMs', ttlMs, `a number above 0, and at most ${maxMs}`);
}

/** The most that a store call may take if its caller does not say, in ms. */
export const DEFAULT_CALL_TIMEOUT_MS = 2_500;

/**
 * Returns the option `callTimeoutMs`, with its default filled in.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` unless it is a number from 10 to 60,000.
 */
export function checkCallTimeout(callTimeoutMs: unknown): number {
  return checkNumber('callTimeoutMs', callTimeoutMs, DEFAULT_CALL_TIMEOUT_MS, { min: 10, max: 60_000 });
}

/** The options of all store calls together. */
const CALL_OPTIONS = ['timeoutMs', 'signal', 'at', 'fresh', 'values', 'before', 'first', 'last', 'look'];

/**
 * Checks the options that every store call has, and fills in the default timeout. Returns the same
 * object if it has a timeout.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export function checkCall<O extends CallOptions>(options: O): TimedCall<O> {
  if (typeof options !== 'object' || options === null) throw invalidOption('call options', options, 'an object, or left out');
  checkAbortSignal(options.signal);
  if (!hasTimeout(options)) {
    // A misspelt timeout is absent. Calls of the SDK have a timeout, and adapters may add options.
    checkKnown('call', options, CALL_OPTIONS);
    return { ...options, timeoutMs: DEFAULT_CALL_TIMEOUT_MS };
  }
  checkDuration('timeoutMs', options.timeoutMs);
  return options;
}

function hasTimeout<O extends CallOptions>(options: O): options is TimedCall<O> {
  return options.timeoutMs !== undefined;
}

/**
 * Checks the changes of a swap: at least one, each of another key, all well-formed.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export function checkChanges(changes: readonly Change[]): void {
  checkList(changes);
  if (changes.length === 0) throw invalidOption('changes', changes.length, 'at least one');
  const keys = new Set<Key>();
  for (const change of changes) {
    checkChange(change);
    const { key } = change;
    checkPath('key', key);
    if (keys.has(key)) throw invalidText('key', key, 'in one change only of a swap');
    keys.add(key);
  }
}

const RESERVED = /^(elections|members|groups)(\/|$)/;

/**
 * Checks the changes of `leadership.swap`: the SDK's own keys are not allowed, and the guard takes
 * one of the store's `maxChanges`.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 * @throws {StoreError} `TOO_LARGE` for too many changes.
 */
export function checkFencedChanges(changes: readonly Change[], { maxChanges }: StoreCapabilities): void {
  checkList(changes);
  for (const change of changes) {
    checkChange(change);
    checkNotReserved(change.key);
  }
  const most = maxChanges - 1;
  if (changes.length <= most) return;
  const why = `the store allows ${maxChanges}, and the guard is one`;
  throw new StoreError('TOO_LARGE', 'refused', `${changes.length} changes in one swap of a leader: ${most} are allowed (${why})`);
}

/**
 * Checks that a key is not one of the SDK's own.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export function checkNotReserved(key: unknown): void {
  if (typeof key !== 'string' || key === '') throw invalidText('key', key, 'a key of the store');
  if (RESERVED.test(key)) throw invalidText('key', key, 'outside elections/, members/ and groups/, which the SDK keeps');
}

function checkList(changes: unknown): void {
  if (!Array.isArray(changes)) throw invalidOption('changes', changes, 'an array of changes');
}

/** The fields of each kind of change, by the field that only this kind has. */
const CHANGE_FIELDS = { put: ['key', 'expect', 'put', 'lease'], delete: ['key', 'expect', 'delete'], check: ['key', 'expect'] };
const ALL_CHANGE_FIELDS = [...new Set(Object.values(CHANGE_FIELDS).flat())];

/**
 * Checks the names and types of a change, for callers without TypeScript: a change with `value` in
 * place of `put` would be a check, and would write nothing.
 */
function checkChange(change: Change): void {
  // First, because the kind of a change with a misspelt field is not known.
  checkKnown('change', change, ALL_CHANGE_FIELDS);
  checkKnown('change', change, CHANGE_FIELDS[kindOf(change)]);
  if ('delete' in change && !Object.is(change.delete, true)) throw invalidOption('delete', change.delete, 'true, or left out');
  const { expect } = change;
  if (expect !== null && typeof expect !== 'string')
    throw invalidOption('expect', expect, 'a revision, or null for "there is no such key"');
  if (!('put' in change)) return;
  const { put, lease } = change;
  if (!(put instanceof Uint8Array)) throw invalidOption('put', put, 'a Uint8Array (new TextEncoder().encode(text))');
  if (lease !== undefined && lease !== null && typeof lease !== 'string')
    throw invalidOption('lease', lease, "the id of a lease, null, or 'keep'");
}

function kindOf(change: Change): keyof typeof CHANGE_FIELDS {
  if ('put' in change) return 'put';
  return 'delete' in change ? 'delete' : 'check';
}

/** A part of a list, as in `ListOptions`. */
export interface ListPart {
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

/**
 * Checks that at most one of `first` and `last` is given, and that it is an integer above 0.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export function checkListing({ first, last }: ListPart): void {
  for (const [name, count] of Object.entries({ first, last })) {
    if (count !== undefined && !(Number.isSafeInteger(count) && count > 0)) throw invalidOption(name, count, 'an integer above 0');
  }
  if (first !== undefined && last !== undefined) throw invalidOption('last', last, 'absent beside `first`');
}

/**
 * Checks what `enqueue` is to read.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export function checkLook(look: QueueLook | undefined): void {
  if (look === undefined) return;
  checkPath('key', look.key);
  checkListing({ last: look.last });
}

/** Returns the first entries, the last entries, or all of a list in the order of creation. */
export function partOfList<T>(all: readonly T[], { first, last }: ListPart): readonly T[] {
  if (first !== undefined) return all.slice(0, first);
  return last === undefined ? all : all.slice(Math.max(all.length - last, 0));
}

/** Returns the entry without its value and revision, for a list with `values: false`. */
export function withoutValue(entry: Entry): Entry {
  return { ...entry, value: new Uint8Array(), revision: '' };
}

/** The fields that name a store in every event. */
export function storeFields({ name, namespace }: Pick<Store, 'name' | 'namespace'>): {
  readonly store: string;
  readonly namespace?: string;
} {
  return namespace === undefined ? { store: name } : { store: name, namespace };
}

/**
 * Checks that a store was passed, and not a URL, a promise of a store or a client of a database.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export function checkStore(store: unknown): void {
  if (isStore(store)) return;
  // Callers may pass a URL by mistake, and it may contain a password.
  const open = 'an open store, as openStore(url) or openEtcd(url) resolve with (await it)';
  throw invalidSecret('store', store, isRedisClient(store) ? OF_CLIENT : open, describeStore(store));
}

const OF_CLIENT =
  'an open store, as openRedis({ client }) of @incumbent/redis resolves with (await it): it takes over the settings of the client';

/** True for an open store. */
export function isStore(value: unknown): value is Store {
  return typeof value === 'object' && value !== null && 'capabilities' in value && 'compareAndSwap' in value;
}

/** True for a client of the package `ioredis` or `redis`. */
export function isRedisClient(value: unknown): boolean {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject && 'sendCommand' in value && typeof value.sendCommand === 'function';
}

/** Describes what was passed as a store, for an error, without its content. */
export function describeStore(value: unknown): string {
  if (isStore(value)) return 'an open store';
  return isRedisClient(value) ? 'a client of Redis' : describeHidden(value);
}
