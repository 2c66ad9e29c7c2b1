/** What agents answer, checked as it comes in. */

import { ExchangeError } from '../http/failure.ts';

export type Fields = ReadonlyMap<string, unknown>;

export function parse(answer: string): unknown {
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
