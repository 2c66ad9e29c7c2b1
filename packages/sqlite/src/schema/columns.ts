/**
 * Reads columns of a row, and checks their types: the file may have been written by anything.
 * Each function throws `CORRUPT` for a value of another type.
 */

import type { Columns } from './connection.ts';
import { unexpectedColumn } from '../errors.ts';

export function numberIn(row: Columns, name: string): number {
  const value = row[name];
  if (typeof value !== 'number') throw unexpectedColumn(name, 'a number');
  return value;
}

export function textIn(row: Columns, name: string): string {
  const value = row[name];
  if (typeof value !== 'string') throw unexpectedColumn(name, 'text');
  return value;
}

export function maybeTextIn(row: Columns, name: string): string | undefined {
  return row[name] === null ? undefined : textIn(row, name);
}

export function bytesIn(row: Columns, name: string): Uint8Array {
  const value = row[name];
  if (!(value instanceof Uint8Array)) throw unexpectedColumn(name, 'bytes');
  return value;
}
