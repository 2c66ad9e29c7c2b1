/** Checks of what callers pass to a store: a programmer's mistakes, told as `RangeError` or `TypeError` before anything is sent. */

import { invalidOption } from './options.ts';
import type { CallOptions, Change, Key } from './store.ts';

const PATH = /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

/** A key, a prefix or a namespace. */
export function checkPath(what: string, path: unknown): string {
  if (typeof path === 'string' && PATH.test(path)) return path;
  throw invalidOption(what, path, 'names of A-Z a-z 0-9 . _ ~ -, separated by /');
}

/** One name of a path. */
export function checkPart(what: string, name: unknown): string {
  if (typeof name === 'string' && PATH.test(name) && !name.includes('/')) return name;
  throw invalidOption(what, name, 'one name of A-Z a-z 0-9 . _ ~ -');
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
  for (const { key } of changes) {
    checkPath('key', key);
    if (keys.has(key)) throw invalidOption('key', key, 'in one change only of a swap');
    keys.add(key);
  }
}
