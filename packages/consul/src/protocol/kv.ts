/** Reads of keys. */

import { type AttemptOptions, MAX_ANSWER_BYTES } from '@incumbent/network';

import type { Client } from '../client/client.ts';
import type { HttpHead } from '../client/connections.ts';
import { fields, index, malformed, optionalText, parseItem, text, type Fields } from './json.ts';

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

/** What the head of an answer says about the pairs that follow. */
export interface AnswerHead {
  /** A blocking query of the same target waits for a change after this index. */
  readonly index: number;
  /** False if the servers have no leader. */
  readonly knownLeader: boolean;
  /** The time since the responding server last heard from the leader, in ms. */
  readonly lastContactMs: number;
}

/**
 * The query of a linearizable read: the leader responds after a quorum has confirmed that it leads.
 */
export const CONSISTENT = { consistent: '' } as const;

/**
 * Sends a query of a target. `onHead` is called when the head of an answer with pairs has arrived.
 * What it returns receives each pair while the answer arrives; undefined if nothing needs them.
 */
export async function queryKeys(
  client: Client,
  { path, recurse }: Target,
  query: Readonly<Record<string, string>>,
  onHead: (head: AnswerHead) => ((pair: Pair) => void) | undefined,
  options: AttemptOptions,
): Promise<AnswerHead> {
  const response = await client.request(
    {
      method: 'GET',
      path: `/v1/kv/${path}`,
      query: { ...query, ...(recurse ? { recurse: '' } : {}) },
      accept: [404],
      onHead: (head) => {
        const onPair = onHead(answerHead(head));
        return onPair && ((json) => onPair(pairFrom(json)));
      },
    },
    options,
  );
  return answerHead(response);
}

/** Reads the pairs of a target, linearizably. With `values` false, the pairs have empty values. */
export async function readKeys(client: Client, target: Target, options: AttemptOptions, values = true): Promise<readonly Pair[]> {
  const list = new PairList(values);
  await queryKeys(client, target, CONSISTENT, () => (pair) => list.add(pair), options);
  return list.pairs;
}

const EMPTY = new Uint8Array(0);

/** The highest sum of the paths and values of a list. In memory, a list takes about twice that. */
const MAX_LIST_BYTES = MAX_ANSWER_BYTES / 2;
/** What a pair counts besides its path and its value. */
const PAIR_BYTES = 256;

/** The pairs of one list, which may take a limited amount of memory. */
export class PairList {
  readonly #pairs: Pair[] = [];
  readonly #values: boolean;
  #bytes = 0;

  /** With `values` false, the list drops the values, and does not count them. */
  constructor(values = true) {
    this.#values = values;
  }

  get pairs(): readonly Pair[] {
    return this.#pairs;
  }

  /** Throws an `ExchangeError` of the kind `malformed` if the list becomes too large. */
  add(pair: Pair): void {
    const kept = this.#values ? pair : { ...pair, value: EMPTY };
    this.#bytes += PAIR_BYTES + kept.path.length + kept.value.length;
    if (this.#bytes > MAX_LIST_BYTES) throw malformed(`the pairs of the list count for more than ${MAX_LIST_BYTES / 2 ** 20} MiB in all`);
    this.#pairs.push(kept);
  }
}

function answerHead({ status, header }: HttpHead): AnswerHead {
  const at = Number(header('x-consul-index') ?? Number.NaN);
  if (!Number.isSafeInteger(at)) throw malformed(`there is no X-Consul-Index with status ${status}`);
  return {
    index: at,
    knownLeader: header('x-consul-knownleader') !== 'false',
    lastContactMs: Number(header('x-consul-lastcontact') ?? 0),
  };
}

export function pairOf(item: unknown): Pair {
  const pair = fields(item);
  return pairWith(pair, bytesOf(optionalText(pair, 'Value')));
}

function pairWith(pair: Fields, value: Uint8Array): Pair {
  return {
    path: text(pair, 'Key'),
    value,
    created: index(pair, 'CreateIndex'),
    modified: index(pair, 'ModifyIndex'),
    session: optionalText(pair, 'Session'),
  };
}

/**
 * Like {@link pairOf}, but reads the JSON of a pair. Does not turn a long value into a string: such
 * strings stay in memory for a long time.
 */
export function pairFrom(json: Uint8Array): Pair {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.length);
  const place = longValueIn(bytes);
  if (place === undefined) return pairOf(parseItem(bytes.toString()));
  const { start, end } = place;
  const pair = fields(parseItem(bytes.toString('utf8', 0, start) + bytes.toString('utf8', end)));
  if (pair.get('Value') !== '') throw malformed('a pair has several values');
  return pairWith(pair, longBytesOf(bytes.subarray(start, end)));
}

const VALUE = '"Value":';
const [QUOTE = 0, BACKSLASH = 0, SPACE = 0, PADDING = 0] = Buffer.from('"\\ =');

/**
 * The position of the value's characters. Undefined for a short value, and for one with escapes,
 * which Consul does not write.
 */
function longValueIn(json: Buffer): { readonly start: number; readonly end: number } | undefined {
  if (json.length < LONG_VALUE_CHARACTERS) return undefined;
  const name = json.indexOf(VALUE);
  if (name <= 0 || json[name - 1] === BACKSLASH) return undefined;
  const colon = name + VALUE.length;
  // Consul writes a space in its development mode.
  const quote = json[colon] === SPACE ? colon + 1 : colon;
  const start = quote + 1;
  const end = json.indexOf(QUOTE, start);
  if (json[quote] !== QUOTE || end - start < LONG_VALUE_CHARACTERS) return undefined;
  return json.subarray(start, end).includes(BACKSLASH) ? undefined : { start, end };
}

/** Shorter values are parsed with their pair. */
const LONG_VALUE_CHARACTERS = 4_096;
/** This number of characters of base64 is decoded at a time. A multiple of 4. */
const PIECE_CHARACTERS = 8_192;
const PIECE_BYTES = (PIECE_CHARACTERS * 3) / 4;

function longBytesOf(base64: Buffer): Uint8Array {
  const padding = [-1, -2].filter((at) => base64.at(at) === PADDING).length;
  const bytes = new Uint8Array(Math.floor((base64.length * 3) / 4) - padding);
  const target = Buffer.from(bytes.buffer);
  for (let [at, written] = [0, 0]; at < base64.length; at += PIECE_CHARACTERS, written += PIECE_BYTES) {
    const count = target.write(base64.toString('latin1', at, at + PIECE_CHARACTERS), written, 'base64');
    if (count !== Math.min(PIECE_BYTES, bytes.length - written)) throw malformed('Value is not base64');
  }
  return bytes;
}

function bytesOf(base64: string): Uint8Array {
  if (base64 === '') return EMPTY;
  const bytes = Buffer.from(base64, 'base64');
  // A short buffer is a part of a larger one, which it would keep in memory.
  if (bytes.byteLength < bytes.buffer.byteLength) return new Uint8Array(bytes);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
