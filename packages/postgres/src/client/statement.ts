/**
 * Writes statements. A call is one message of the simple query protocol: the server runs and
 * commits it without a further message of the client. In the extended protocol, a client that stops
 * before its last message would hold the locks of its call. The simple protocol has no parameters,
 * so values are written as literals, of characters only that no setting of the server interprets.
 */

import { quoted } from '../schema/schema.ts';

/** A part of a statement that is safe to insert. */
export type Literal = { readonly sql: string };

/** Characters that need no escape in a literal, whatever `standard_conforming_strings` is. */
const PLAIN = /^[A-Za-z0-9._~/ :-]*$/;

/** Any text without a zero character. */
export function text(value: string): Literal {
  if (PLAIN.test(value)) return { sql: `'${value}'` };
  return { sql: `convert_from(decode('${Buffer.from(value).toString('base64')}', 'base64'), 'UTF8')` };
}

export function bytes(value: Uint8Array): Literal {
  const base64 = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  return { sql: `decode('${base64}', 'base64')` };
}

export function integer(value: number | bigint): Literal {
  return { sql: BigInt(value).toString() };
}

export function boolean(value: boolean): Literal {
  return { sql: value ? 'true' : 'false' };
}

export const NULL: Literal = { sql: 'NULL' };

/** An array of this type of elements. */
export function array(type: 'text' | 'bigint' | 'bytea' | 'boolean', elements: readonly Literal[]): Literal {
  return { sql: `ARRAY[${elements.map(({ sql }) => sql).join(',')}]::${type}[]` };
}

/** Selects the rows of a function. */
export function callOf(schema: string, name: string, args: readonly Literal[]): string {
  return `SELECT * FROM ${quoted(schema)}.${name}(${args.map(({ sql }) => sql).join(', ')})`;
}
