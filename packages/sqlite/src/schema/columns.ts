/** Columns of a row, checked as they are read: a file may hold anything. */

import { StoreError } from '@incumbent/core/adapter';

import type { Columns } from '../client/connection.ts';

export function numberIn(row: Columns, name: string): number {
  const value = row[name];
  return typeof value === 'number' ? value : fail(name, 'a number');
}

export function textIn(row: Columns, name: string): string {
  const value = row[name];
  return typeof value === 'string' ? value : fail(name, 'text');
}

export function maybeTextIn(row: Columns, name: string): string | undefined {
  return row[name] === null ? undefined : textIn(row, name);
}

export function bytesIn(row: Columns, name: string): Uint8Array {
  const value = row[name];
  return value instanceof Uint8Array ? value : fail(name, 'bytes');
}

function fail(name: string, what: string): never {
  throw new StoreError('CORRUPT', 'refused', `sqlite: the column ${name} holds no ${what}`);
}
