/** Reads the JSON of responses, and checks its shape. */

import { ExchangeError } from '../client/failure.ts';

const [COMMA, BRACKET, BRACE] = [',', '[', '{'].map((letter) => letter.charCodeAt(0));

export type Fields = ReadonlyMap<string, unknown>;

/**
 * Parsing costs memory and time in proportion to the number of values. The responses of a real
 * agent have a hundredth of this number at most.
 */
const MAX_PARTS = 128 * 1_024;

/** Throws an `ExchangeError` of the kind `malformed`, as all functions of this file do. */
export function parse(json: string): unknown {
  if (partsOf(json) > MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} values`);
  return parseItem(json);
}

/** As {@link parse}, for an item of a list, whose number of values was checked while it arrived. */
export function parseItem(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw malformed('it is not JSON', error);
  }
}

export function fields(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new Map(Object.entries(value));
  throw malformed('an object was expected');
}

export function items(value: unknown): readonly unknown[] {
  // Go encodes an empty list as null.
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw malformed('a list was expected');
}

export function text(object: Fields, name: string): string {
  const value = object.get(name);
  if (typeof value === 'string') return value;
  throw malformed(`${name} is not a string`);
}

/** Returns an empty string for a missing field: Go omits empty strings. */
export function optionalText(object: Fields, name: string): string {
  return object.get(name) === undefined || object.get(name) === null ? '' : text(object, name);
}

/** An index of Raft's log. Indexes of real clusters are safe integers. */
export function index(object: Fields, name: string): number {
  const value = object.get(name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(`${name} is not an index`);
}

export function malformed(what: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, `the response cannot be read: ${what}`, cause);
}

/** An upper bound of the number of values, lists and objects. */
function partsOf(json: string): number {
  let parts = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === COMMA || code === BRACKET || code === BRACE) parts += 1;
  }
  return parts;
}
