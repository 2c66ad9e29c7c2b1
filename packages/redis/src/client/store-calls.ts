/** The calls of one store: each runs one script, and every failure becomes a `StoreError`. */

import type { TimedCall } from '@incumbent/core';
import { CheckedCalls } from '@incumbent/network';

import { toStoreError, withAclGrant } from '../errors.ts';
import type { Keyspace } from '../namespace.ts';
import type { Reply } from '../protocol/resp.ts';
import { runScript, type Script } from '../scripts/script.ts';
import type { Client } from './client.ts';

/** One run of a script. */
interface ScriptCall<T> {
  /** The name of the store's method, for messages. */
  readonly method: string;
  readonly script: Script;
  readonly args: readonly (string | Uint8Array)[];
  /** Reads the answer, and copies what it keeps. May throw an `ExchangeError` or a `StoreError`. */
  readonly read: (reply: Reply) => T;
}

export class StoreCalls extends CheckedCalls {
  readonly client: Client;
  readonly keyspace: Keyspace;

  constructor(client: Client, keyspace: Keyspace) {
    super({ store: 'redis', isClosed: () => client.closed, toStoreError, nameGrant: (error) => withAclGrant(error, keyspace) });
    this.client = client;
    this.keyspace = keyspace;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  run<T>({ method, script, args, read }: ScriptCall<T>, options: TimedCall): Promise<T> {
    const exchange = (): Promise<T> =>
      this.client.call((connection, over) => runScript(connection, script, this.keyspace, args, read, over), options);
    return this.call(method, exchange, options);
  }
}
