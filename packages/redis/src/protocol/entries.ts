/** Entries as the scripts write them, in answers and in messages. */

import type { Entry } from '@incumbent/core';
import { nameOfKey } from '@incumbent/core/adapter';

import { malformed } from './failure.ts';
import { bytesOf, listOf, textOf } from './replies.ts';
import type { Reply } from './resp.ts';

export interface StoredEntry {
  readonly entry: Entry;
  /**
   * The time until the lease ends without a renewal. Undefined without a lease, and for a lease
   * without an end.
   */
  readonly remainingMs: number | undefined;
}

/** The number of fields of an entry: key, revision, order, lease, remaining time and value. */
export const ENTRY_FIELDS = 6;

/** Reads one entry of an answer. Undefined for an empty list: the key is absent. */
export function storedEntryOf(reply: Reply): StoredEntry | undefined {
  const fields = listOf(reply);
  if (fields.length === 0) return undefined;
  if (fields.length !== ENTRY_FIELDS) throw malformed();
  return storedEntryFrom(Array.from(fields, bytesOf));
}

/**
 * Copies the value. Throws an `ExchangeError` for fields that no script writes: somebody may have
 * changed the hash of a key by hand.
 */
export function storedEntryFrom(fields: readonly Uint8Array[]): StoredEntry {
  const [keyField, revision, orderField, leaseField, remainingField, value] = fields;
  if (keyField === undefined || revision === undefined || orderField === undefined || value === undefined) throw malformed();
  const [key, lease, order] = [textOf(keyField), textOf(leaseField), textOf(orderField)];
  const remainingMs = Number(textOf(remainingField));
  if (!/^\d{1,19}$/.test(order) || !Number.isInteger(remainingMs)) throw malformed();
  const name = nameOfKey(key);
  const entry = { key, name, value: new Uint8Array(value), revision: textOf(revision), order: BigInt(order) };
  if (lease === '') return { entry, remainingMs: undefined };
  return { entry: { ...entry, lease }, remainingMs: remainingMs < 0 ? undefined : remainingMs };
}
