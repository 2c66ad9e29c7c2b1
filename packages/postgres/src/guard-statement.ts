/** The statement that guards a transaction of a leader. */

import type { Change } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';

import { callOf, integer, text } from './client/statement.ts';
import type { StoreLocation } from './client/store-calls.ts';
import { quoted } from './schema/schema.ts';

/** A statement for the start of a transaction. It returns one row without a useful value. */
export interface SqlGuard {
  /** The statement, with the parameters `$1` to `$3`. */
  readonly text: string;
  /** The parameters, for `text`. */
  readonly values: string[];
  /** The same statement without parameters, for libraries that do not take `$1`. */
  readonly literal: string;
}

const TERM_KEY = /^(elections\/[^/]+)\/term$/;

/** The statement for a leadership with this guard in the store at this location. */
export function guardStatement({ schema, namespace }: StoreLocation, { key, expect }: Change): SqlGuard {
  const election = TERM_KEY.exec(key)?.[1];
  if (election === undefined || expect === null || !/^[1-9]\d{0,18}$/.test(expect))
    throw invalidOption('leadership', key, 'a leadership of an election in this store');
  return {
    text: `SELECT ${quoted(schema)}.guard($1, $2, $3)`,
    values: [namespace, election, expect],
    literal: callOf(schema, 'guard', [text(namespace), text(election), integer(BigInt(expect))]),
  };
}
