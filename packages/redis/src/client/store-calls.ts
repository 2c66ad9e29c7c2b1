/** The calls of one store: each runs one script, and every failure becomes a `StoreError`. */

import type { CallOptions, TimedCall } from '@incumbent/core';
import { checkCall } from '@incumbent/core/adapter';
import { closedMeanwhile, storeClosed } from '@incumbent/network';

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

export class StoreCalls {
  readonly client: Client;
  readonly keyspace: Keyspace;

  constructor(client: Client, keyspace: Keyspace) {
    this.client = client;
    this.keyspace = keyspace;
  }

  /**
   * Returns the options with their timeout. Throws if the options are invalid, if the signal has
   * aborted (its reason), or if the store is closed.
   */
  check<O extends CallOptions>(options: O): TimedCall<O> {
    const call = checkCall(options);
    options.signal?.throwIfAborted();
    if (this.client.closed) throw storeClosed('redis');
    return call;
  }

  /** Rejects with a `StoreError`, or with the signal's reason. */
  run<T>({ method, script, args, read }: ScriptCall<T>, options: TimedCall): Promise<T> {
    const exchange = (): Promise<T> =>
      this.client.call((connection, over) => runScript(connection, script, this.keyspace, args, read, over), options);
    return this.call(method, exchange, options);
  }

  /** Runs any task of the client. Rejects with a `StoreError`, or with the signal's reason. */
  async call<T>(method: string, task: () => Promise<T>, { signal }: TimedCall): Promise<T> {
    try {
      return await task();
    } catch (error) {
      if (signal?.aborted === true && error === signal.reason) throw error;
      const failure = toStoreError(error, method);
      throw this.client.closed ? closedMeanwhile(failure, `redis ${method}`) : withAclGrant(failure, this.keyspace);
    }
  }
}
