/** Reads columns of rows, and checks their types: another program may have written the tables. */

import type { Entry } from '@incumbent/core';
import { nameOfKey } from '@incumbent/core/adapter';

import { malformed } from './failure.ts';

/** A row as the server sent it: each column as text, or null. */
export type Row = readonly (string | null)[];

export function textAt(row: Row, column: number): string {
  const value = row[column];
  if (typeof value !== 'string') throw malformed();
  return value;
}

/** An integer without a fraction. */
export function integerAt(row: Row, column: number): number {
  const value = Number(textAt(row, column));
  if (!Number.isSafeInteger(value)) throw malformed();
  return value;
}

/** Undefined if the column is null. */
export function maybeIntegerAt(row: Row, column: number): number | undefined {
  return row[column] === null ? undefined : integerAt(row, column);
}

/** The only row of an answer. */
export function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw malformed();
  return row;
}

/**
 * The entry in the columns key, value, revision, created and lease, of which the first is `first`.
 */
export function entryAt(row: Row, first: number): Entry {
  const key = textAt(row, first);
  const [created, lease] = [textAt(row, first + 3), row[first + 4]];
  if (!/^-?\d{1,19}$/.test(created)) throw malformed();
  return {
    key,
    name: nameOfKey(key),
    value: new Uint8Array(Buffer.from(textAt(row, first + 1), 'base64')),
    revision: textAt(row, first + 2),
    order: BigInt(created),
    ...(lease === null || lease === undefined ? {} : { lease }),
  };
}
