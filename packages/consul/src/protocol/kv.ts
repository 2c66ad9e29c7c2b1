/** Reads of keys. */

import type { AttemptOptions } from '@incumbent/network';

import type { Answer } from '../client/connections.ts';
import type { Client } from '../client/client.ts';
import { fields, index, items, malformed, optionalText, parse, text } from './json.ts';

export interface Pair {
  readonly path: string;
  readonly value: Uint8Array;
  readonly created: number;
  readonly modified: number;
  /** The session that holds the key; empty where none does. */
  readonly session: string;
}

/** One key, or all that begin with a path. */
export interface Target {
  readonly path: string;
  readonly recurse: boolean;
}

export interface Reading {
  readonly pairs: readonly Pair[];
  /** What to wait behind, in a blocking query of the same target. */
  readonly index: number;
  /** False: the servers have no leader. */
  readonly knownLeader: boolean;
  /** How long ago the server that answered last heard from the leader, in ms. */
  readonly lastContactMs: number;
}

/** Answered by the leader when a quorum has confirmed that it leads. */
export const CONSISTENT = { consistent: '' } as const;

export async function readKeys(
  client: Client,
  { path, recurse }: Target,
  query: Readonly<Record<string, string>>,
  options: AttemptOptions,
): Promise<Reading> {
  const full = { ...query, ...(recurse ? { recurse: '' } : {}) };
  // `%` is in no key of ours but where a name is escaped.
  const request = { method: 'GET', path: `/v1/kv/${path.replaceAll('%', '%25')}`, query: full, answers: [404] } as const;
  return readingOf(await client.request(request, options));
}

function readingOf(answer: Answer): Reading {
  const at = Number(answer.header('x-consul-index') ?? Number.NaN);
  if (!Number.isSafeInteger(at)) throw malformed(`no X-Consul-Index with status ${answer.status}`);
  return {
    pairs: answer.status === 404 ? [] : items(parse(answer.text)).map(pairOf),
    index: at,
    knownLeader: answer.header('x-consul-knownleader') !== 'false',
    lastContactMs: Number(answer.header('x-consul-lastcontact') ?? 0),
  };
}

export function pairOf(item: unknown): Pair {
  const pair = fields(item);
  return {
    path: text(pair, 'Key'),
    value: new Uint8Array(Buffer.from(optionalText(pair, 'Value'), 'base64')),
    created: index(pair, 'CreateIndex'),
    modified: index(pair, 'ModifyIndex'),
    session: optionalText(pair, 'Session'),
  };
}
