/**
 * What stands under the keys: JSON with a format version `v`. Fields that this version does not
 * know are kept when a record is written again; a newer major version is refused with
 * `NEWER_FORMAT`, and what is no record at all with `FOREIGN_DATA`, both naming the key.
 */

import { IncumbentError } from '../base/errors.ts';
import type { Entry, Key, Revision } from '../store/contract.ts';
import { MAX_TERM } from './terms.ts';

const FORMAT = 1;

/**
 * Field names in the store that differ from the names in the code. Do not change these: members of
 * different versions read each other's records.
 */
const WIRE = { successor: 'heir', handoverTerm: 'marked' } as const;

type Json = Record<string, unknown>;

/** A user's value as it stands in a record: JSON, or bytes in base64. */
export type Payload = { readonly json: unknown } | { readonly bytes: string } | undefined;

/** Under `leader`: who leads. */
export interface LeaderRecord {
  readonly term: bigint;
  readonly memberId: string;
  readonly incarnation: string;
  /**
   * The leader's entry in the queue: unique to this campaign, so a leader recognizes its own record
   * by it.
   */
  readonly entry: Key;
  readonly payload: Payload;
}

/**
 * How a term ended, if it was ended on purpose. Written only in the swap that takes the holder's
 * entry away, after its work has stopped: claims rest on that, and ask no more for the entry's
 * absence.
 */
export interface TermEnd {
  readonly reason: string;
  /** The successor's entry, of a handover in two steps. */
  readonly successor?: Key;
  /** Whether the successor was the first of those who waited. */
  readonly first?: boolean;
}

/** Under `term`: the last term issued. */
export interface TermRecord {
  readonly term: bigint;
  readonly memberId: string;
  readonly incarnation: string;
  readonly entry: Key;
  /**
   * Nobody who goes before the holder was left in the queue when its term began: so whoever is
   * right behind it comes next, and need not look.
   */
  readonly first?: boolean;
  readonly ended?: TermEnd;
  /** As read, with fields that this version does not know. */
  readonly raw: Json;
}

/** An entry's value in the queue: what the candidate will publish. */
export interface CandidateRecord {
  readonly payload: Payload;
  /** Terms up to this one are taken to be issued already, if it leads. */
  readonly termFloor: bigint;
  /**
   * Set by a leader that handed over to this candidate: the term that ended, or in one swap the
   * term that began.
   */
  readonly handoverTerm?: bigint;
  /**
   * Set by an operator while this entry's candidate leads: the member id that it is asked to hand
   * over to.
   */
  readonly handTo?: string;
  readonly raw: Json;
}

/** Under `members/<memberId>`: which process holds the id. */
export interface MemberRecord {
  readonly incarnation: string;
  readonly ttlMs: number;
}

/** How many lists and objects of a published value may lie within one another. */
export const MAX_VALUE_DEPTH = 1_000;

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder('utf-8', { fatal: true });

function write(fields: Json): Uint8Array {
  return utf8.encode(JSON.stringify({ v: FORMAT, ...fields }));
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function open(entry: Entry): Json {
  const parsed = parse(entry.value);
  if (!isJson(parsed) || typeof parsed['v'] !== 'number') throw foreign(entry, 'no record of this SDK');
  if (parsed['v'] > FORMAT) {
    throw new IncumbentError('NEWER_FORMAT', `${entry.key} has format ${parsed['v']}; this version reads up to ${FORMAT}: upgrade it`, {
      details: { key: entry.key, format: parsed['v'] },
    });
  }
  return parsed;
}

function parse(bytes: Uint8Array): unknown {
  try {
    const json = fromUtf8.decode(bytes);
    // The record itself is one level.
    return nestsDeeperThan(MAX_VALUE_DEPTH + 1, json) ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * Whether the text has more lists and objects within one another than this. `JSON.parse` reads any depth, and `JSON.stringify`, which writes
 * a record again, overflows the stack at a few thousand levels.
 */
export function nestsDeeperThan(levels: number, json: string): boolean {
  if (json.length <= levels) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') isText = !isText;
    else if (isText && character === '\\') at += 1;
    else if (!isText && (character === '[' || character === '{')) depth += 1;
    else if (!isText && (character === ']' || character === '}')) depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}

function foreign(entry: Entry, what: string, cause?: unknown): IncumbentError {
  return new IncumbentError('FOREIGN_DATA', `${entry.key} holds ${what}`, { cause, details: { key: entry.key } });
}

function text(entry: Entry, json: Json, field: string): string {
  const value = json[field];
  if (typeof value !== 'string') throw foreign(entry, `a record without a proper "${field}"`);
  return value;
}

function termOf(entry: Entry, json: Json, field: string): bigint {
  const value = text(entry, json, field);
  const term = /^[1-9][0-9]{0,18}$/.test(value) ? BigInt(value) : 0n;
  if (term < 1n || term > MAX_TERM) throw foreign(entry, `a record whose "${field}" is no term`);
  return term;
}

function payloadOf(json: Json): Payload {
  if (typeof json['bytes'] === 'string') return { bytes: json['bytes'] };
  return 'value' in json ? { json: json['value'] } : undefined;
}

function payloadFields(payload: Payload): Json {
  if (payload === undefined) return {};
  return 'bytes' in payload ? { bytes: payload.bytes } : { value: payload.json };
}

export function writeLeader(record: LeaderRecord): Uint8Array {
  const { term, memberId, incarnation, entry, payload } = record;
  return write({ term: String(term), memberId, incarnation, entry, ...payloadFields(payload) });
}

const written = new WeakMap<Entry, LeaderRecord>();

/**
 * A record of this process's own, for whoever reads it: no bytes are made of it unless somebody
 * asks.
 */
export function writtenLeader(key: Key, revision: Revision, record: LeaderRecord): Entry {
  const entry = {
    key,
    name: 'leader',
    get value() {
      return writeLeader(record);
    },
    revision,
    order: 0n,
  };
  written.set(entry, record);
  return entry;
}

/** Each time anew: whoever reads it may keep the value in it, and change that. */
export function readLeader(entry: Entry): LeaderRecord {
  const own = written.get(entry);
  if (own !== undefined) return own;
  const json = open(entry);
  return {
    term: termOf(entry, json, 'term'),
    memberId: text(entry, json, 'memberId'),
    incarnation: text(entry, json, 'incarnation'),
    entry: text(entry, json, 'entry'),
    payload: payloadOf(json),
  };
}

/**
 * `before` is the record that this one takes the place of. Who was first is named: a version that
 * does not know the field keeps it for its own terms.
 */
export function writeTerm(record: Omit<TermRecord, 'raw'>, before: TermRecord | undefined): Uint8Array {
  const { term, memberId, incarnation, entry, first, ended } = record;
  return write({
    ...before?.raw,
    term: String(term),
    memberId,
    incarnation,
    entry,
    first: first === true ? entry : undefined,
    ended: ended && writeEnd(ended),
  });
}

function writeEnd({ reason, successor, first }: TermEnd): Json {
  return { reason, [WIRE.successor]: successor, first };
}

/** In the moment that counts most, several ask for it one after the other. */
const terms = new WeakMap<Entry, TermRecord>();

export function readTerm(entry: Entry): TermRecord {
  const before = terms.get(entry);
  if (before !== undefined) return before;
  const record = parseTerm(entry);
  terms.set(entry, record);
  return record;
}

function parseTerm(entry: Entry): TermRecord {
  const json = open(entry);
  const { ended } = json;
  const holder = text(entry, json, 'entry');
  return {
    term: termOf(entry, json, 'term'),
    memberId: text(entry, json, 'memberId'),
    incarnation: text(entry, json, 'incarnation'),
    entry: holder,
    ...(json['first'] === holder ? { first: true } : {}),
    ...(isJson(ended) ? { ended: readEnd(ended) } : {}),
    raw: json,
  };
}

function readEnd(json: Json): TermEnd {
  const reason = typeof json['reason'] === 'string' ? json['reason'] : 'unknown';
  const successor = json[WIRE.successor];
  if (typeof successor !== 'string') return { reason };
  return { reason, successor, ...(json['first'] === true ? { first: true } : {}) };
}

export function writeCandidate(payload: Payload, termFloor: bigint): Uint8Array {
  return write({ ...payloadFields(payload), ...(termFloor > 0n ? { termFloor: String(termFloor) } : {}) });
}

/** The same entry with the term of a handover to its owner. */
export function writeHandoverTerm(entry: Entry, term: bigint): Uint8Array {
  return write({ ...readCandidate(entry).raw, [WIRE.handoverTerm]: String(term) });
}

/** The same entry with an operator's request to its owner in it, or without one. */
export function writeRequest(entry: Entry, handTo: string | undefined): Uint8Array {
  return write({ ...readCandidate(entry).raw, handTo });
}

export function readCandidate(entry: Entry): CandidateRecord {
  const json = open(entry);
  return {
    payload: payloadOf(json),
    termFloor: 'termFloor' in json ? termOf(entry, json, 'termFloor') : 0n,
    ...(WIRE.handoverTerm in json ? { handoverTerm: termOf(entry, json, WIRE.handoverTerm) } : {}),
    ...('handTo' in json ? { handTo: text(entry, json, 'handTo') } : {}),
    raw: json,
  };
}

export function writeMember(record: MemberRecord): Uint8Array {
  return write({ ...record });
}

export function readMember(entry: Entry): MemberRecord {
  const json = open(entry);
  const { ttlMs } = json;
  if (typeof ttlMs !== 'number' || !(ttlMs > 0 && ttlMs < Infinity)) throw foreign(entry, 'a record without a proper "ttlMs"');
  return { incarnation: text(entry, json, 'incarnation'), ttlMs };
}

/** Under `groups/<name>/<memberId>`: who has joined. */
export interface GroupRecord {
  readonly memberId: string;
  readonly incarnation: string;
  readonly payload: Payload;
}

export function writeGroup({ memberId, incarnation, payload }: GroupRecord): Uint8Array {
  return write({ memberId, incarnation, ...payloadFields(payload) });
}

export function readGroup(entry: Entry): GroupRecord {
  const json = open(entry);
  return { memberId: text(entry, json, 'memberId'), incarnation: text(entry, json, 'incarnation'), payload: payloadOf(json) };
}

/** What the entry holds, or undefined where it is no record that this version can read. */
export function tryRead<T>(read: (entry: Entry) => T, entry: Entry | undefined): T | undefined {
  if (entry === undefined) return undefined;
  try {
    return read(entry);
  } catch (error) {
    if (error instanceof IncumbentError) return undefined;
    throw error;
  }
}
