/** Entries as a store would show them. */

import type { Entry } from '../../src/index.ts';

let made = 0;

/** A key with these bytes, or with this text or JSON. */
export function entryOf(key: string, value: unknown = '', more: Partial<Entry> = {}): Entry {
  made += 1;
  return { key, name: key.slice(key.lastIndexOf('/') + 1), value: bytesOf(value), revision: `r${made}`, order: BigInt(made), ...more };
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  return new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
}
