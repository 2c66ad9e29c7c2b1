/** Reads JSON of an API server, which may be anything. */

import { ExchangeError } from '../client/failure.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** @throws `ExchangeError` of the kind `malformed` if the text is not a JSON object. */
export function parseObject(json: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // The parser's message repeats a part of the text, which may be the token of the request.
    throw malformed('it is not JSON');
  }
  return fields(value);
}

export function fields(value: unknown): Fields {
  if (isFields(value)) return value;
  throw malformed(`${value === null ? 'null' : typeof value} in place of an object`);
}

export function optionalFields(value: unknown): Fields {
  return value === undefined || value === null ? {} : fields(value);
}

export function text(object: Fields, name: string): string {
  const value = object[name];
  if (typeof value === 'string') return value;
  throw malformed(`"${name}" is not text`);
}

/** The fields that are text. Others are left out. */
export function textFields(object: Fields): Readonly<Record<string, string>> {
  if (isText(object)) return object;
  return Object.fromEntries(Object.entries(object).filter((field): field is [string, string] => typeof field[1] === 'string'));
}

function isText(object: Fields): object is Readonly<Record<string, string>> {
  return Object.values(object).every((value) => typeof value === 'string');
}

function malformed(message: string): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, `the response is malformed: ${message}`);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
