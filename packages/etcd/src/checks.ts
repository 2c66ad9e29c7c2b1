/** Checks of what callers pass to the store: a programmer's mistakes, told as `RangeError` or `TypeError` before anything is sent. */

import { invalidOption, type CallOptions, type Change, type Key } from '@incumbent/core';

const PATH = /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

export function checkPath(what: string, path: unknown): string {
  if (typeof path === 'string' && PATH.test(path)) return path;
  throw invalidOption(what, path, 'names of A-Z a-z 0-9 . _ ~ -, separated by /');
}

export function checkCall({ timeoutMs }: CallOptions): void {
  if (!(timeoutMs > 0 && timeoutMs < Infinity)) throw invalidOption('timeoutMs', timeoutMs, 'a number above 0');
}

export function checkKeys(changes: readonly Change[]): void {
  if (changes.length === 0) throw invalidOption('changes', changes.length, 'at least one');
  const keys = new Set<Key>();
  for (const { key } of changes) {
    checkPath('key', key);
    if (keys.has(key)) throw invalidOption('key', key, 'in one change only of a swap');
    keys.add(key);
  }
}
