/** What agents answer, checked as it comes in. */

import { MAX_ANSWER_BYTES, PART_BYTES } from '@incumbent/network';

import { ExchangeError } from '../client/failure.ts';

const [COMMA, BRACKET, BRACE] = [',', '[', '{'].map((letter) => letter.charCodeAt(0));

export type Fields = ReadonlyMap<string, unknown>;

/** What is parsed takes memory and time by its parts. */
const MAX_PARTS = (MAX_ANSWER_BYTES / PART_BYTES) * 4;

export function parse(answer: string): unknown {
  if (partsOf(answer) > MAX_PARTS) throw malformed('it has more parts than any answer');
  try {
    return JSON.parse(answer);
  } catch (error) {
    throw malformed('it is no JSON', error);
  }
}

export function fields(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new Map(Object.entries(value));
  throw malformed('an object was expected');
}

export function items(value: unknown): readonly unknown[] {
  // Go writes null for an empty list.
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw malformed('a list was expected');
}

export function text(object: Fields, name: string): string {
  const value = object.get(name);
  if (typeof value === 'string') return value;
  throw malformed(`${name} is no text`);
}

/** Empty where Go leaves an empty text out. */
export function optionalText(object: Fields, name: string): string {
  return object.get(name) === undefined || object.get(name) === null ? '' : text(object, name);
}

/** An index of raft's log: a number beyond any that a cluster comes to. */
export function index(object: Fields, name: string): number {
  const value = object.get(name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(`${name} is no index`);
}

export function malformed(what: string, cause?: unknown): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, `the answer cannot be understood: ${what}`, cause);
}

/** Values, lists and objects of an answer, and no fewer. */
function partsOf(answer: string): number {
  let parts = 0;
  for (let at = 0; at < answer.length; at += 1) {
    const code = answer.charCodeAt(at);
    if (code === COMMA || code === BRACKET || code === BRACE) parts += 1;
  }
  return parts;
}
