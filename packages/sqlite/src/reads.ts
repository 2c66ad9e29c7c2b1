/** Reads one key, or lists the keys below a prefix. Each read sees one state of the file. */

import type { CallOptions, Entry, Key, ListOptions } from '@incumbent/core';
import { checkListing, checkPath, withoutValue } from '@incumbent/core/adapter';

import type { Calls } from './client/calls.ts';
import type { Namespace } from './namespace.ts';
import { NEWEST } from './schema/tables.ts';

export async function read(calls: Calls, namespace: Namespace, key: Key, options: CallOptions): Promise<Entry | undefined> {
  const stored = namespace.key(checkPath('key', key));
  const row = await calls.run((database) => database.read((tables) => tables.read(stored)), options);
  return row && namespace.entry(row);
}

export async function list(calls: Calls, namespace: Namespace, prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
  checkListing(options);
  const { values = true, before, first, last } = options;
  const stored = namespace.key(checkPath('prefix', prefix));
  const listing = { values, before: before === undefined ? NEWEST : Number(before.order), first, last };
  const rows = await calls.run((database) => database.read((tables) => tables.list(stored, listing)), options);
  const entries = rows.map((row) => namespace.entry(row));
  return values ? entries : entries.map(withoutValue);
}
