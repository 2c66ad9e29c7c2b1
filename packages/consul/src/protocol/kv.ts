/** Reads of keys. */

import type { AttemptOptions } from '@incumbent/network';

import type { HttpResponse } from '../client/connections.ts';
import type { Client } from '../client/client.ts';
import { fields, index, malformed, optionalText, parseItem, text } from './json.ts';

export interface Pair {
  readonly path: string;
  readonly value: Uint8Array;
  readonly created: number;
  readonly modified: number;
  /** The session that has locked the key; empty if none has. */
  readonly session: string;
}

/** One key, or with `recurse` all keys that begin with `path`. */
export interface Target {
  readonly path: string;
  readonly recurse: boolean;
}

export interface Reading {
  readonly pairs: readonly Pair[];
  /** A blocking query of the same target waits for a change after this index. */
  readonly index: number;
  /** False if the servers have no leader. */
  readonly knownLeader: boolean;
  /** The time since the responding server last heard from the leader, in ms. */
  readonly lastContactMs: number;
}

/** The query of a linearizable read: the leader responds after a quorum has confirmed that it leads. */
export const CONSISTENT = { consistent: '' } as const;

export async function readKeys(
  client: Client,
  { path, recurse }: Target,
  query: Readonly<Record<string, string>>,
  options: AttemptOptions,
): Promise<Reading> {
  const full = { ...query, ...(recurse ? { recurse: '' } : {}) };
  const pairs: Pair[] = [];
  const response = await client.request(
    {
      method: 'GET',
      // A `%` in a path comes from the namespace's escaping, and belongs to the key.
      path: `/v1/kv/${path.replaceAll('%', '%25')}`,
      query: full,
      accept: [404],
      onItem: (json) => pairs.push(pairOf(parseItem(json))),
    },
    options,
  );
  return { pairs, ...positionOf(response) };
}

function positionOf(response: HttpResponse): Omit<Reading, 'pairs'> {
  const at = Number(response.header('x-consul-index') ?? Number.NaN);
  if (!Number.isSafeInteger(at)) throw malformed(`there is no X-Consul-Index with status ${response.status}`);
  return {
    index: at,
    knownLeader: response.header('x-consul-knownleader') !== 'false',
    lastContactMs: Number(response.header('x-consul-lastcontact') ?? 0),
  };
}

export function pairOf(item: unknown): Pair {
  const pair = fields(item);
  return {
    path: text(pair, 'Key'),
    value: bytesOf(optionalText(pair, 'Value')),
    created: index(pair, 'CreateIndex'),
    modified: index(pair, 'ModifyIndex'),
    session: optionalText(pair, 'Session'),
  };
}

function bytesOf(base64: string): Uint8Array {
  const bytes = Buffer.from(base64, 'base64');
  // A short buffer is a part of a larger one, which it would keep in memory.
  if (bytes.byteLength < bytes.buffer.byteLength) return new Uint8Array(bytes);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
