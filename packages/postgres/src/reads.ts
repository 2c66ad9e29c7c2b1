/** Reads of one key or of a list. Reads that start at the same time share one statement. */

import type { CallOptions, Clock, Entry, Key, ListOptions } from '@incumbent/core';
import { checkListing, withoutValue } from '@incumbent/core/adapter';
import { type AttemptOptions, ReadBatcher, type ReadQuery } from '@incumbent/network';

import { ExchangeError, isAnswer, malformed } from './client/failure.ts';
import { entryAt, integerAt, type Row } from './client/rows.ts';
import { array, boolean, integer, type Literal, NULL, text } from './client/statement.ts';
import type { StoreCalls } from './client/store-calls.ts';
import { RAISED } from './schema/functions.ts';

/** The most reads of one statement. */
const MAX_READS = 64;

/** The reads of one store. */
export class Reads {
  readonly #calls: StoreCalls;
  readonly #batcher: ReadBatcher<ReadQuery, readonly Entry[]>;

  constructor(calls: StoreCalls, clock: Clock) {
    this.#calls = calls;
    this.#batcher = new ReadBatcher({
      clock,
      ErrorType: ExchangeError,
      maxReads: MAX_READS,
      isOfOneRead: (error) => isAnswer(error, RAISED.tooLarge),
      send: async ({ requests, options, markSent }) =>
        entriesIn(await calls.rows('read', readArgs(requests), { ...options, onSend: markSent }), requests.length),
    });
  }

  async read(key: Key, options: CallOptions): Promise<Entry | undefined> {
    const call = this.#calls.check(options);
    const query = { key: this.#calls.checkKey('key', key) };
    const [entry] = await this.#calls.call('read', () => this.#batcher.read(query, call), call);
    return entry;
  }

  async list(prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
    const call = this.#calls.check(options);
    checkListing(options);
    const { values = true, before, first, last } = options;
    const query = { prefix: this.#calls.checkKey('prefix', prefix), before, first, last, values };
    const entries = await this.#calls.call('list', () => this.#batcher.read(query, call), call);
    return values ? entries : entries.map(withoutValue);
  }

  /** For watches. Rejects with an `ExchangeError`. */
  query(query: ReadQuery, options: AttemptOptions): Promise<readonly Entry[]> {
    return this.#batcher.read(query, options);
  }
}

/** The arguments of the function `read`. */
export function readArgs(queries: readonly ReadQuery[]): readonly Literal[] {
  return [
    array(
      'text',
      queries.map((query) => text('key' in query ? 'k' : 'l')),
    ),
    array(
      'text',
      queries.map((query) => text('key' in query ? query.key : query.prefix)),
    ),
    array(
      'bigint',
      queries.map((query) => ('key' in query || query.before === undefined ? NULL : integer(query.before.order))),
    ),
    array('bigint', queries.map(limitOf)),
    array(
      'boolean',
      queries.map((query) => boolean('key' in query || query.values !== false)),
    ),
  ];
}

function limitOf(query: ReadQuery): Literal {
  if ('key' in query) return NULL;
  const { first, last } = query;
  if (first !== undefined) return integer(first);
  return last === undefined ? NULL : integer(-last);
}

/** The entries of each of `count` queries. */
export function entriesIn(rows: readonly Row[], count: number): readonly (readonly Entry[])[] {
  const results = Array.from({ length: count }, (): Entry[] => []);
  for (const row of rows) {
    const result = results[integerAt(row, 0) - 1];
    if (result === undefined) throw malformed();
    result.push(entryAt(row, 1));
  }
  return results;
}
