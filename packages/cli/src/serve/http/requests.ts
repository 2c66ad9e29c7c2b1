/** Reads requests: the body, within a bound, and the fields of its JSON. */

import type { IncomingMessage } from 'node:http';

import type { Change } from '@incumbent/core';

import { ApiError } from '../api-error.ts';

/** The longest body of a request, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;
/** The `renewWithinMs` of a new candidacy or membership. */
export const DEFAULT_RENEW_WITHIN_MS = 15_000;
const RENEW_RANGE = { min: 250, max: 3_600_000 } as const;

export type JsonObject = Readonly<Record<string, unknown>>;

/** The JSON object of the body. Empty if there is no body. */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const text = await readBody(request);
  if (text === '') return {};
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new ApiError('NOT_JSON', 'the body needs the header "content-type: application/json"');
  const parsed = parse(text);
  if (isObject(parsed)) return parsed;
  throw new ApiError('BAD_REQUEST', 'the body must be a JSON object');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request) {
      if (!(chunk instanceof Buffer)) throw new TypeError('the request has an encoding');
      size += chunk.length;
      if (size > MAX_BODY_BYTES) throw new ApiError('BODY_TOO_LARGE', `the body has more than ${MAX_BODY_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    // The client has closed the connection, or was too slow: nobody reads the answer.
    if (error === request.errored) throw new ApiError('BAD_REQUEST', 'the connection was closed before the end of the body');
    throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('BAD_REQUEST', 'the body is not valid JSON');
  }
}

/** @throws `BAD_REQUEST` for a field of another name: it would otherwise have no effect. */
function checkFields(body: JsonObject, known: readonly string[]): void {
  for (const name of Object.keys(body))
    if (!known.includes(name))
      throw new ApiError('BAD_REQUEST', `there is no field ${JSON.stringify(name)}: the fields are ${known.join(', ')}`);
}

/** The settings in the body of `PUT …/candidacies/{candidacy}`, without those that it omits. */
export function candidacySettings(body: JsonObject): { readonly value?: unknown; readonly renewWithinMs?: number | null } {
  checkFields(body, ['value', 'renewWithinMs']);
  const { renewWithinMs, value } = body;
  const given = value === undefined ? {} : { value };
  if (renewWithinMs === undefined) return given;
  const isTime = typeof renewWithinMs === 'number' && renewWithinMs >= RENEW_RANGE.min && renewWithinMs <= RENEW_RANGE.max;
  if (renewWithinMs !== null && !isTime)
    throw new ApiError('BAD_REQUEST', `renewWithinMs must be null, or a number from ${RENEW_RANGE.min} to ${RENEW_RANGE.max}`);
  return { ...given, renewWithinMs };
}

/** The settings in the body of `PUT …/membership`, without those that it omits. */
export function membershipSettings(body: JsonObject): { readonly value?: unknown; readonly renewWithinMs?: number } {
  const { renewWithinMs, ...rest } = candidacySettings(body);
  if (renewWithinMs === null) throw new ApiError('BAD_REQUEST', 'renewWithinMs must be a number: a membership has no event stream');
  return renewWithinMs === undefined ? rest : { ...rest, renewWithinMs };
}

/** The term of a request about one term, with the other fields that the request may have. */
export function termOf(body: JsonObject, ...others: readonly string[]): bigint {
  checkFields(body, ['term', ...others]);
  const { term } = body;
  if (typeof term === 'string' && /^[1-9]\d{0,18}$/.test(term)) return BigInt(term);
  throw new ApiError('BAD_REQUEST', 'term must be the term of the candidacy, as a string of digits');
}

/** The successor of a handover. Undefined for the next in succession. */
export function successorOf({ to }: JsonObject): string | undefined {
  if (to === undefined || typeof to === 'string') return to;
  throw new ApiError('BAD_REQUEST', 'to must be the member id of a candidate');
}

/** The value of `publish`, which must be there. */
export function valueOf(body: JsonObject): unknown {
  if (body['value'] === undefined) throw new ApiError('BAD_REQUEST', 'value is missing');
  return body['value'];
}

/** The changes of a fenced swap. */
export function changesOf({ changes }: JsonObject): readonly Change[] {
  if (Array.isArray(changes) && changes.length > 0 && changes.every(isObject)) return changes.map(changeOf);
  throw new ApiError('BAD_REQUEST', 'changes must be a list of at least one change');
}

function changeOf(change: JsonObject): Change {
  checkFields(change, ['key', 'expect', 'put', 'putBase64', 'delete']);
  const { key, expect, put, putBase64 } = change;
  if (typeof key !== 'string') throw new ApiError('BAD_REQUEST', 'the key of a change must be a string');
  if (expect !== null && typeof expect !== 'string')
    throw new ApiError('BAD_REQUEST', 'expect must be the revision of the key, or null if the key must not exist');
  const actions = ['put', 'putBase64', 'delete'].filter((name) => change[name] !== undefined);
  if (actions.length > 1) throw new ApiError('BAD_REQUEST', `a change has ${actions.join(' and ')}: it can have one of them`);
  if (typeof put === 'string') return { key, expect, put: Buffer.from(put) };
  if (typeof putBase64 === 'string') return { key, expect, put: bytesOf(putBase64) };
  if (change['delete'] === true && expect !== null) return { key, expect, delete: true };
  if (actions.length === 0) return { key, expect };
  throw new ApiError('BAD_REQUEST', 'put and putBase64 must be strings; delete must be true, with the revision that it expects');
}

/** `Buffer.from` skips all characters that are not base64, and would write other bytes. */
function bytesOf(base64: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64)
    throw new ApiError('BAD_REQUEST', 'putBase64 must be base64 with its padding, without line breaks');
  return bytes;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
