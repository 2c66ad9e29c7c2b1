/** Opens one connection, to a server or to a Sentinel. */

import type { Clock } from '@incumbent/core';
import { Attempt, type Connect, describeError, dial, type Endpoint, endpointName } from '@incumbent/network';

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
    throw withEndpoint(endpoint, error, timeoutMs);
  } finally {
    attempt.end();
  }
}

/** Puts the address into the message, because there may be several servers. */
function withEndpoint(endpoint: Endpoint, error: unknown, timeoutMs: number): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message, cause } = error;
  if (failure.kind === 'timeout')
    return notConnected(
      'silent',
      `${endpointName(endpoint)}: no answer within ${timeoutMs} ms; a server that is not Redis, or that expects no TLS, may do this`,
    );
  return failure.kind === 'notConnected' ? new ExchangeError(failure, `${endpointName(endpoint)}: ${message}`, cause) : error;
}
