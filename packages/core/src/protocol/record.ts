/**
 * The values of the keys: JSON with a format version `v`. A write of `term` or of a queue entry
 * keeps the fields that this version does not know. The other records are written whole. A read
 * throws `NEWER_FORMAT` for a newer major version, and `FOREIGN_DATA` for anything that is not a
 * record. Both errors name the key.
 */

import { IncumbentError } from '../base/errors.ts';
import { MAX_VALUE_DEPTH, nestsDeeperThan } from '../base/json.ts';
import { isName } from '../base/validate.ts';
import type { Entry, Key } from '../store/contract.ts';
import { highestTerm, MAX_TERM } from './terms.ts';

const FORMAT = 1;

type JsonObject = Record<string, unknown>;

/** A user's value as part of a record: JSON, or bytes in base64. */
export type Payload = { readonly json: unknown } | { readonly bytes: string } | undefined;

/** The value of the key `leader`: who leads. */
export interface LeaderRecord {
  readonly term: bigint;
  readonly memberId: string;
  readonly incarnation: string;
  /**
   * The key of the leader's entry in the queue. No other campaign has the same key, so a leader
   * recognizes its own record by it.
   */
  readonly entry: Key;
  readonly payload: Payload;
  /**
   * How the term before ended. Absent for the first term, and if an older version has written the
   * record.
   */
  readonly previous?: PreviousRecord | undefined;
  /**
   * How many values the leader has published in this term, from 1. Of two records of one term, the
   * one with the lower number is older. Absent before the first publication, and if an older
   * version has written the record.
   */
  readonly publication?: number | undefined;
}

/**
 * The end of the term before, as the key `term` showed it to the swap that elected the leader. That
 * swap checks the revision of `term`, so all observers read the same, also those that join later.
 */
export interface PreviousRecord {
  readonly term: bigint;
  readonly memberId: string;
  /** The reason that the holder wrote. `expired` if it wrote none. */
  readonly reason: string;
}

/**
 * How a term ended, if its holder has written that. The holder writes it after its work has
 * stopped, in the swap that deletes its entry. So a claim after such an end does not check that the
 * entry is absent. A holder whose session has ended writes nothing.
 */
export interface TermEnd {
  readonly reason: string;
  /** After a handover in two steps: the key of the successor's entry. */
  readonly successor?: Key;
  /** True if no other waiting candidate was ahead of the successor. */
  readonly nobodyAhead?: boolean;
}

/** The value of the key `term`: the last term issued. */
export interface TermRecord {
  readonly term: bigint;
  readonly memberId: string;
  readonly incarnation: string;
  readonly entry: Key;
  /**
   * True if no other candidate was ahead of the holder when its term began. Then the candidate
   * right behind the holder comes next, and need not read the queue.
   */
  readonly nobodyAhead?: boolean;
  readonly ended?: TermEnd;
  /** The highest term that an operator has lowered. Absent if no operator has. */
  readonly loweredFrom?: bigint;
  /** All fields as read, including those that this version does not know. */
  readonly raw: JsonObject;
}

/**
 * The entry that blocks every claim: the last holder's, unless its term has `ended`. Then an entry
 * of that name comes from a late enqueue, and counts like any other.
 */
export function holderOf(term: TermRecord | undefined): Key | undefined {
  return term?.ended === undefined ? term?.entry : undefined;
}

/** The value of an entry in the queue: what the candidate will publish. */
export interface CandidateRecord {
  readonly payload: Payload;
  /** If this candidate is elected, terms up to this one count as issued. */
  readonly termFloor: bigint;
  /** The highest term that the candidate had seen when it joined. 0n if it had seen none. */
  readonly seenTerm: bigint;
  /**
   * Set by a leader that handed over to this candidate. After a handover in one swap: the term that
   * began. After a handover in two steps: the term that ended.
   */
  readonly handoverTerm?: bigint;
  /** Set by an operator in the leader's entry: the member id that the leader shall hand over to. */
  readonly handTo?: string;
  /** Set by an operator in the leader's entry: the leader shall step down. */
  readonly stepDown?: true;
  /** All fields as read, including those that this version does not know. */
  readonly raw: JsonObject;
}

/** The value of the key `members/<memberId>`: which process holds the id. */
export interface MemberRecord {
  readonly incarnation: string;
  readonly ttlMs: number;
  /** The holder's host, and when it started, in ms since the epoch. For error messages only. */
  readonly host?: string;
  readonly startedAt?: number;
}

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder('utf-8', { fatal: true });

function write(fields: JsonObject): Uint8Array {
  return utf8.encode(JSON.stringify({ v: FORMAT, ...fields }));
}

/** False for null and for an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function open(entry: Entry): JsonObject {
  const parsed = parse(entry.value);
  if (!isJsonObject(parsed) || typeof parsed['v'] !== 'number') throw foreign(entry, 'no record of this SDK');
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
    // The record itself adds one level to the value.
    return nestsDeeperThan(MAX_VALUE_DEPTH + 1, json) ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

function foreign(entry: Entry, what: string, cause?: unknown): IncumbentError {
  return new IncumbentError('FOREIGN_DATA', `${entry.key} holds ${what}`, { cause, details: { key: entry.key } });
}

function text(entry: Entry, json: JsonObject, field: string): string {
  const value = json[field];
  if (typeof value !== 'string') throw foreign(entry, `a record without a proper "${field}"`);
  return value;
}

function termOf(entry: Entry, json: JsonObject, field: string): bigint {
  const term = readTermNumber(text(entry, json, field));
  if (term === undefined) throw foreign(entry, `a record whose "${field}" is no term`);
  return term;
}

/** Undefined for anything but the digits of a term. */
export function readTermNumber(value: unknown): bigint | undefined {
  if (typeof value !== 'string') return undefined;
  const term = /^[1-9][0-9]{0,18}$/.test(value) ? BigInt(value) : 0n;
  return term < 1n || term > MAX_TERM ? undefined : term;
}

function payloadOf(json: JsonObject): Payload {
  if (typeof json['bytes'] === 'string') return { bytes: json['bytes'] };
  return 'value' in json ? { json: json['value'] } : undefined;
}

function payloadFields(payload: Payload): JsonObject {
  if (payload === undefined) return {};
  return 'bytes' in payload ? { bytes: payload.bytes } : { value: payload.json };
}

/** Encodes the value of the key `leader`. */
export function writeLeader(record: LeaderRecord): Uint8Array {
  const { term, memberId, incarnation, entry, payload, previous, publication } = record;
  const before = previous === undefined ? {} : { previous: { ...previous, term: String(previous.term) } };
  return write({ term: String(term), memberId, incarnation, entry, ...before, publication, ...payloadFields(payload) });
}

/**
 * How this term ended, for the record of the next leader. Undefined if the record does not name its
 * member. Both texts are names, so that the length of the next record is bounded.
 */
export function previousOf({ term, memberId, ended }: TermRecord, reason: string = ended?.reason ?? 'expired'): PreviousRecord | undefined {
  return isName(memberId) ? { term, memberId, reason: isName(reason) ? reason : 'unknown' } : undefined;
}

/** Decodes the key `leader`, on every call: the caller may change the value in the result. */
export function readLeader(entry: Entry): LeaderRecord {
  const json = open(entry);
  const [previous, { publication }] = [readPrevious(json['previous']), json];
  return {
    term: termOf(entry, json, 'term'),
    memberId: text(entry, json, 'memberId'),
    incarnation: text(entry, json, 'incarnation'),
    entry: text(entry, json, 'entry'),
    payload: payloadOf(json),
    ...(previous === undefined ? {} : { previous }),
    ...(typeof publication === 'number' && Number.isSafeInteger(publication) && publication > 0 ? { publication } : {}),
  };
}

/** Undefined if it is malformed: it is only shown, and must not hide who leads. */
export function readPrevious(json: unknown): PreviousRecord | undefined {
  if (!isJsonObject(json)) return undefined;
  const { memberId, reason } = json;
  const term = readTermNumber(json['term']);
  return term !== undefined && isName(memberId) && isName(reason) ? { term, memberId, reason } : undefined;
}

/**
 * Encodes the value of the key `term`. `before` is the record that this one replaces. In the store,
 * `nobodyAhead` is the field `first`, which names the holder's entry instead of being a flag: an
 * older version copies the field, which it does not know, into the records of later terms.
 */
export function writeTerm(record: Omit<TermRecord, 'raw'>, before: TermRecord | undefined): Uint8Array {
  const { term, memberId, incarnation, entry, nobodyAhead, ended } = record;
  return write({
    ...before?.raw,
    term: String(term),
    memberId,
    incarnation,
    entry,
    first: nobodyAhead === true ? entry : undefined,
    ended: ended && writeEnd(ended),
  });
}

/** Encodes the same record with a lower term. Remembers the highest term that was ever lowered. */
export function writeLowered(record: TermRecord, to: bigint): Uint8Array {
  const { term, loweredFrom = 0n, raw } = record;
  return writeTerm({ ...record, term: to }, { ...record, raw: { ...raw, loweredFrom: String(highestTerm(term, loweredFrom)) } });
}

function writeEnd({ reason, successor, nobodyAhead }: TermEnd): JsonObject {
  return { reason, successor, first: nobodyAhead };
}

/** Decoded records. At the end of a term, several functions decode the same entry. */
const terms = new WeakMap<Entry, TermRecord>();

/** Decodes the key `term`. */
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
    ...(json['first'] === holder ? { nobodyAhead: true } : {}),
    ...(isJsonObject(ended) ? { ended: readEnd(ended) } : {}),
    ...('loweredFrom' in json ? { loweredFrom: termOf(entry, json, 'loweredFrom') } : {}),
    raw: json,
  };
}

function readEnd(json: JsonObject): TermEnd {
  const reason = typeof json['reason'] === 'string' ? json['reason'] : 'unknown';
  const { successor } = json;
  if (typeof successor !== 'string') return { reason };
  return { reason, successor, ...(json['first'] === true ? { nobodyAhead: true } : {}) };
}

/** Encodes a new entry of the queue. */
export function writeCandidate(payload: Payload, termFloor: bigint, seenTerm: bigint): Uint8Array {
  const known = { termFloor: termFloor > 0n ? String(termFloor) : undefined, seenTerm: seenTerm > 0n ? String(seenTerm) : undefined };
  return write({ ...payloadFields(payload), ...known });
}

/**
 * Encodes the same entry with other fields. Leaves out `elected`, unless it is given: that field
 * says that the entry is as the swap of a handover wrote it.
 */
export function changeCandidate(entry: Entry, fields: JsonObject): Uint8Array {
  return write({ ...readCandidate(entry).raw, elected: undefined, ...fields });
}

/** Encodes the same entry with an operator's request for a handover, or without one. */
export function writeRequest(entry: Entry, handTo: string | undefined): Uint8Array {
  return changeCandidate(entry, { handTo });
}

/** Encodes the same entry with an operator's request that its leader step down. */
export function writeStepDown(entry: Entry): Uint8Array {
  return changeCandidate(entry, { stepDown: true });
}

/** Decodes an entry of the queue. */
export function readCandidate(entry: Entry): CandidateRecord {
  const json = open(entry);
  return {
    payload: payloadOf(json),
    termFloor: 'termFloor' in json ? termOf(entry, json, 'termFloor') : 0n,
    seenTerm: 'seenTerm' in json ? termOf(entry, json, 'seenTerm') : 0n,
    ...('handoverTerm' in json ? { handoverTerm: termOf(entry, json, 'handoverTerm') } : {}),
    ...('handTo' in json ? { handTo: text(entry, json, 'handTo') } : {}),
    ...(json['stepDown'] === true ? { stepDown: true } : {}),
    raw: json,
  };
}

/** Encodes a member's key. */
export function writeMember(record: MemberRecord): Uint8Array {
  return write({ ...record });
}

/** Decodes a member's key. */
export function readMember(entry: Entry): MemberRecord {
  const json = open(entry);
  const { ttlMs } = json;
  if (typeof ttlMs !== 'number' || !(ttlMs > 0 && ttlMs < Infinity)) throw foreign(entry, 'a record without a proper "ttlMs"');
  const { host, startedAt } = json;
  return {
    incarnation: text(entry, json, 'incarnation'),
    ttlMs,
    ...(typeof host === 'string' ? { host } : {}),
    ...(typeof startedAt === 'number' ? { startedAt } : {}),
  };
}

/** The value of the key `groups/<name>/<memberId>`: a member that has joined. */
export interface GroupRecord {
  readonly memberId: string;
  readonly incarnation: string;
  readonly payload: Payload;
}

/** Encodes a member's key in a group. */
export function writeGroup({ memberId, incarnation, payload }: GroupRecord): Uint8Array {
  return write({ memberId, incarnation, ...payloadFields(payload) });
}

/** Decodes a member's key in a group. */
export function readGroup(entry: Entry): GroupRecord {
  const json = open(entry);
  return { memberId: text(entry, json, 'memberId'), incarnation: text(entry, json, 'incarnation'), payload: payloadOf(json) };
}

/** Decodes an entry. Undefined if there is no entry, or `read` throws an `IncumbentError`. */
export function tryRead<T>(read: (entry: Entry) => T, entry: Entry | undefined): T | undefined {
  if (entry === undefined) return undefined;
  try {
    return read(entry);
  } catch (error) {
    if (error instanceof IncumbentError) return undefined;
    throw error;
  }
}
