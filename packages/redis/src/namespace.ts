/** The contract's words in Redis's: the names of keys, and entries as scripts tell them. */

import type { Entry } from '@incumbent/core';

import { ExchangeError } from './client/failure.ts';
import { isList, type Reply } from './protocol/resp.ts';

/** What every name of a server's begins with. The braces make a cluster keep all of a namespace in one place. */
export function tagOf(namespace: string): string {
  return `{${namespace}}`;
}

/** What the places of keys begin with, and nothing else. */
export function placesOf(namespace: string): string {
  return `${tagOf(namespace)}/`;
}

/** Channels are one for all databases of a server. */
export function channelOf(namespace: string, db: number): string {
  return `${tagOf(namespace)}:changes:${db}`;
}

/** An entry, and how long its lease lives without a renewal: undefined where it has none, or one that lasts. */
export interface Row {
  readonly entry: Entry;
  readonly leftMs: number | undefined;
}

/** How many words tell an entry. */
export const ROW_WORDS = 6;

/** Undefined for an empty list: there is no such key. */
export function rowOf(reply: Reply): Row | undefined {
  const words = listOf(reply);
  return words.length === 0 ? undefined : rowIn(words.map(bytesOf));
}

/** From the words that tell an entry. */
export function rowIn([keyWord, revision, orderWord, leaseWord, leftWord, value]: readonly Uint8Array[]): Row {
  if (keyWord === undefined || revision === undefined || orderWord === undefined || value === undefined) throw malformed();
  const [key, lease, order, left] = [textOf(keyWord), textOf(leaseWord), textOf(orderWord), Number(textOf(leftWord))];
  // As others may have left them.
  if (!/^\d{1,19}$/.test(order) || !Number.isInteger(left)) throw malformed();
  const name = key.slice(key.lastIndexOf('/') + 1);
  const entry = { key, name, value, revision: textOf(revision), order: BigInt(order) };
  if (lease === '') return { entry, leftMs: undefined };
  return { entry: { ...entry, lease }, leftMs: left < 0 ? undefined : left };
}

export function listOf(reply: Reply | undefined): readonly Reply[] {
  if (reply === undefined || !isList(reply)) throw malformed();
  return reply;
}

export function bytesOf(reply: Reply | undefined): Uint8Array {
  if (!(reply instanceof Uint8Array)) throw malformed();
  return reply;
}

export function numberOf(reply: Reply | undefined): number {
  if (typeof reply !== 'number') throw malformed();
  return reply;
}

export function textOf(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}

export function malformed(): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, 'the answer cannot be understood');
}
