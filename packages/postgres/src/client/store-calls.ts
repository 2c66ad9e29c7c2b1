/**
 * The calls of one store: each runs one function of the schema, and every failure becomes a
 * `StoreError`.
 */

import type { Key, TimedCall } from '@incumbent/core';
import { checkPath } from '@incumbent/core/adapter';
import { CheckedCalls, tooLarge } from '@incumbent/network';

import { MAX_KEY_CHARACTERS } from '../capabilities.ts';
import { toStoreError, withMissingGrant } from '../errors.ts';
import type { CallOptionsOfClient, Client } from './client.ts';
import type { ConnectionSource } from './connection.ts';
import type { Row } from './rows.ts';
import { callOf, integer, type Literal, text } from './statement.ts';

/** Where the keys of a store are, and the connections to them. */
export interface StoreLocation {
  readonly schema: string;
  readonly namespace: string;
  readonly source: ConnectionSource;
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

export class StoreCalls extends CheckedCalls {
  readonly client: Client;
  readonly location: StoreLocation;

  constructor(client: Client, location: StoreLocation) {
    super({
      store: 'postgres',
      isClosed: () => client.closed,
      toStoreError,
      nameGrant: (error) => withMissingGrant(error, location),
    });
    this.client = client;
    this.location = location;
  }

  /** Throws for a path that cannot be a key, and `TOO_LARGE` for one that an index cannot hold. */
  checkKey(option: string, key: Key): Key {
    checkPath(option, key);
    if (key.length + this.location.namespace.length <= MAX_KEY_CHARACTERS) return key;
    throw tooLarge('postgres', `a key of ${key.length} characters: with the namespace, ${MAX_KEY_CHARACTERS} are allowed`);
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  run<T>({ method, name, args, read, urgent = false }: FunctionCall<T>, options: TimedCall): Promise<T> {
    return this.call(method, async () => read(await this.rows(name, args, { ...options, urgent })), options);
  }

  /** The rows of a function. Rejects with an `ExchangeError`, or with the signal's reason. */
  rows(name: string, args: readonly Literal[], options: CallOptionsOfClient): Promise<readonly Row[]> {
    return this.client.call((lockTimeoutMs) => statementOf(this.location, name, lockTimeoutMs, args), options);
  }
}

/** A call of a function on the namespace. */
export function statementOf(
  { schema, namespace }: Omit<StoreLocation, 'source'>,
  name: string,
  lockTimeoutMs: number,
  args: readonly Literal[],
): string {
  return callOf(schema, name, [text(namespace), integer(lockTimeoutMs), ...args]);
}
