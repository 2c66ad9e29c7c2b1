/** The calls of one store: each runs one function of the schema, and every failure becomes a `StoreError`. */

import type { CallOptions, Key, TimedCall } from '@incumbent/core';
import { checkCall, checkPath } from '@incumbent/core/adapter';
import { closedMeanwhile, storeClosed, tooLarge } from '@incumbent/network';

import { MAX_KEY_CHARACTERS } from '../capabilities.ts';
import { toStoreError, withTableGrant } from '../errors.ts';
import type { CallOptionsOfClient, Client } from './client.ts';
import type { ConnectionSource } from './connection.ts';
import type { Row } from './rows.ts';
import { callOf, integer, type Literal, text } from './statement.ts';

/** Where the keys of a store are, and who reads them. */
export interface Place {
  readonly schema: string;
  readonly namespace: string;
  readonly source: Pick<ConnectionSource, 'username'>;
}

/** One run of a function. */
interface FunctionCall<T> {
  /** The name of the store's method, for messages. */
  readonly method: string;
  /** The name of the function in the schema. */
  readonly name: string;
  /** The arguments after the namespace and the time limit. */
  readonly args: readonly Literal[];
  /** Reads the answer. May throw an `ExchangeError` or a `StoreError`. */
  readonly read: (rows: readonly Row[]) => T;
  /** Whether the call is a renewal. */
  readonly urgent?: boolean;
}

export class StoreCalls {
  readonly client: Client;
  readonly place: Place;

  constructor(client: Client, place: Place) {
    this.client = client;
    this.place = place;
  }

  /**
   * Returns the options with their timeout. Throws if the options are invalid, if the signal has
   * aborted (its reason), or if the store is closed.
   */
  check<O extends CallOptions>(options: O): TimedCall<O> {
    const call = checkCall(options);
    options.signal?.throwIfAborted();
    if (this.client.closed) throw storeClosed('postgres');
    return call;
  }

  /** Throws for a path that cannot be a key, and `TOO_LARGE` for one that an index cannot hold. */
  checkKey(option: string, key: Key): Key {
    checkPath(option, key);
    if (key.length + this.place.namespace.length <= MAX_KEY_CHARACTERS) return key;
    throw tooLarge('postgres', `a key of ${key.length} characters: with the namespace, ${MAX_KEY_CHARACTERS} are allowed`);
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  run<T>({ method, name, args, read, urgent = false }: FunctionCall<T>, options: TimedCall): Promise<T> {
    return this.call(method, async () => read(await this.rows(name, args, { ...options, urgent })), options);
  }

  /** The rows of a function. Rejects with an `ExchangeError`, or with the signal's reason. */
  rows(name: string, args: readonly Literal[], options: CallOptionsOfClient): Promise<readonly Row[]> {
    return this.client.call((lockTimeoutMs) => statementOf(this.place, name, lockTimeoutMs, args), options);
  }

  /** Runs any task of the client. Rejects with a `StoreError`, or with the signal's reason. */
  async call<T>(method: string, task: () => Promise<T>, { signal }: TimedCall): Promise<T> {
    try {
      return await task();
    } catch (error) {
      if (signal?.aborted === true && error === signal.reason) throw error;
      const failure = toStoreError(error, method);
      if (this.client.closed) throw closedMeanwhile(failure, `postgres ${method}`);
      throw withTableGrant(failure, this.place.schema, this.place.source.username);
    }
  }
}

/** A call of a function on the namespace. */
export function statementOf(
  { schema, namespace }: Omit<Place, 'source'>,
  name: string,
  lockTimeoutMs: number,
  args: readonly Literal[],
): string {
  return callOf(schema, name, [text(namespace), integer(lockTimeoutMs), ...args]);
}
