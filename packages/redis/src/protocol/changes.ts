/**
 * The messages in which scripts publish what they have changed. `scripts/prelude.ts` describes and
 * writes them.
 */

import type { Key } from '@incumbent/core';

import { ENTRY_FIELDS, storedEntryFrom, type StoredEntry } from './entries.ts';
import { malformed } from './failure.ts';
import { textOf } from './replies.ts';

export type Change =
  | { readonly kind: 'deleted'; readonly key: Key }
  | { readonly kind: 'put'; readonly key: Key; readonly stored: StoredEntry }
  /** The key has a new value that is too long to be published. */
  | { readonly kind: 'changed'; readonly key: Key };

/**
 * Reads the fields of a message after its stamp. Throws an `ExchangeError` for fields that no
 * script of this version writes.
 */
export function readChanges(fields: readonly Uint8Array[]): readonly Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < fields.length;) {
    const kind = textOf(fields[at]);
    const key = textOf(fields[at + 1]);
    if (kind === 'p') {
      changes.push({ kind: 'put', key, stored: storedEntryFrom(fields.slice(at + 1, at + 1 + ENTRY_FIELDS)) });
      at += 1 + ENTRY_FIELDS;
    } else if (kind === 'd' || kind === 'u') {
      changes.push({ kind: kind === 'd' ? 'deleted' : 'changed', key });
      at += 2;
    } else throw malformed();
  }
  return changes;
}

const COLON = 58;

/**
 * Splits a message into its fields, each of which follows its length and a colon. Throws an
 * `ExchangeError` for any other text.
 */
export function fieldsIn(message: Uint8Array): readonly Uint8Array[] {
  const fields: Uint8Array[] = [];
  for (let at = 0; at < message.length;) {
    const colon = message.indexOf(COLON, at);
    const length = Number(textOf(message.subarray(at, Math.max(colon, at))));
    if (colon <= at || !Number.isSafeInteger(length) || length < 0 || colon + 1 + length > message.length) throw malformed();
    fields.push(message.slice(colon + 1, colon + 1 + length));
    at = colon + 1 + length;
  }
  return fields;
}
