/** Opens one connection, to a server or to a Sentinel. */

import type { Clock } from '@incumbent/core';
import { Attempt, type Connect, describeError, dial, type Endpoint, namingEndpoint } from '@incumbent/network';

import { ExchangeError, notConnected } from '../protocol/failure.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { greet, type Greeting } from './greeting.ts';

export interface OpenOptions extends ConnectionOptions {
  readonly clock: Clock;
  readonly connect: Connect;
  readonly greeting: Greeting;
  /** The longest time to accept the connection and to answer the greeting. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const SILENT_HINT = 'a server that is not Redis, or that expects no TLS, may do this';

/**
 * Resolves when the server has answered the greeting. Rejects with an `ExchangeError` that names
 * the server, with the error of the greeting's check, or with the signal's reason.
 */
export async function openConnection(endpoint: Endpoint, options: OpenOptions): Promise<Connection> {
  const { clock, connect, greeting, timeoutMs, signal } = options;
  const attempt = new Attempt(clock, { timeoutMs, signal, background: true }, ExchangeError);
  let connection: Connection | undefined;
  try {
    const stream = await dial(connect, endpoint, attempt.signal).catch((error: unknown) => {
      throw attempt.signal.aborted ? error : notConnected('unreachable', describeError(error), error);
    });
    connection = new Connection(stream, clock, options);
    await attempt.wait(greet(connection, greeting));
    return connection;
  } catch (error) {
    connection?.end(new ExchangeError({ kind: 'cut' }, 'the connection was given up'));
    throw namingEndpoint(ExchangeError, error, { endpoint, timeoutMs, hint: SILENT_HINT });
  } finally {
    attempt.end();
  }
}
