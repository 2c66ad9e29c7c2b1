/** Reads of one key or of a list. Reads that start at the same time share one request. */

import type { CallOptions, Clock, Entry, Key, ListOptions } from '@incumbent/core';
import { checkListing, checkPath, StoreError, withoutValue } from '@incumbent/core/adapter';
import { ReadBatcher, type ReadQuery, tooLarge } from '@incumbent/network';

import type { Connection } from './client/connection.ts';
import type { StoreCalls } from './client/store-calls.ts';
import type { Keyspace } from './namespace.ts';
import { storedEntryOf, type StoredEntry } from './protocol/entries.ts';
import { ExchangeError, malformed } from './protocol/failure.ts';
import { listOf } from './protocol/replies.ts';
import type { Reply } from './protocol/resp.ts';
import { readScript } from './scripts/reads.ts';
import { runScript } from './scripts/script.ts';

/**
 * The most reads of one request: the server runs one script at a time, so every script must be
 * short.
 */
export const MAX_READS = 64;

/**
 * The entries of each query, in order: at most `MAX_READS` queries. Rejects with an
 * `ExchangeError`, or with `TOO_LARGE`.
 */
export async function runReads(
  connection: Connection,
  keyspace: Keyspace,
  queries: readonly ReadQuery[],
): Promise<readonly (readonly StoredEntry[])[]> {
  return runScript(connection, readScript, keyspace, queries.flatMap(argsOf), (answers) => entriesIn(answers, queries.length));
}

function entriesIn(answers: Reply, count: number): readonly (readonly StoredEntry[])[] {
  if (answers instanceof Uint8Array) throw tooLarge('redis', 'the answer would be longer than 16 MiB');
  const results = listOf(answers);
  if (results.length !== count) throw malformed();
  return Array.from(results, (answer) => {
    const entries: StoredEntry[] = [];
    for (const reply of listOf(answer)) {
      const stored = storedEntryOf(reply);
      if (stored !== undefined) entries.push(stored);
    }
    return entries;
  });
}

/** The arguments of `readScript` for one query. */
function argsOf(query: ReadQuery): readonly string[] {
  if ('key' in query) return ['k', query.key, '', '', '1'];
  const { prefix, before, first, last, values = true } = query;
  const count = first ?? (last === undefined ? '' : -last);
  return ['l', prefix, before === undefined ? '' : String(before.order), String(count), values ? '1' : '0'];
}

/** The reads of one store. */
export class Reads {
  readonly #calls: StoreCalls;
  readonly #batcher: ReadBatcher<ReadQuery, readonly StoredEntry[]>;

  constructor(calls: StoreCalls, clock: Clock) {
    this.#calls = calls;
    const { client, keyspace } = calls;
    this.#batcher = new ReadBatcher({
      clock,
      ErrorType: ExchangeError,
      maxReads: MAX_READS,
      isOfOneRead,
      // The client has left a silent server before a read reports its timeout.
      send: ({ requests, options, unwanted, markSent }) =>
        client.call(
          (connection) => {
            markSent();
            return runReads(connection, keyspace, requests);
          },
          { ...options, signal: unwanted },
        ),
    });
  }

  async read(key: Key, options: CallOptions): Promise<Entry | undefined> {
    const call = this.#calls.check(options);
    const query = { key: checkPath('key', key) };
    const [stored] = await this.#calls.call('read', () => this.#batcher.read(query, call), call);
    return stored?.entry;
  }

  async list(prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
    const call = this.#calls.check(options);
    checkListing(options);
    const { values = true, before, first, last } = options;
    const query = { prefix: checkPath('prefix', prefix), before, first, last, values };
    const entries = await this.#calls.call('list', () => this.#batcher.read(query, call), call);
    return entries.map(({ entry }) => (values ? entry : withoutValue(entry)));
  }
}

/**
 * One read can cause these errors alone: its answer is too long, or its key holds fields that no
 * script has written.
 */
function isOfOneRead(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === 'TOO_LARGE';
  return error instanceof ExchangeError && error.failure.kind === 'malformed';
}
