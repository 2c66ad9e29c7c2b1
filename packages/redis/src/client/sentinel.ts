/** Finds the current primary by asking Sentinels. */

import type { Clock } from '@incumbent/core';
import { Attempt, type Connect, type Endpoint, endpointName } from '@incumbent/network';

import { ExchangeError, notConnected } from '../protocol/failure.ts';
import { bytesOf, listOf, textOf } from '../protocol/replies.ts';
import type { Reply } from '../protocol/resp.ts';
import type { Connection } from './connection.ts';
import type { Credentials } from './greeting.ts';
import { openConnection } from './open-connection.ts';
import type { FindServers } from './servers.ts';

export interface SentinelSettings {
  readonly endpoints: readonly Endpoint[];
  /** The name under which the Sentinels watch the primary. */
  readonly master: string;
  /** The user of the Sentinels, who may differ from the user of the servers. */
  readonly credentials: Credentials | undefined;
  readonly connect: Connect;
}

export interface SentinelQuestion extends SentinelSettings {
  readonly clock: Clock;
  /** The longest time for one Sentinel to accept a connection, and to answer the question. */
  readonly timeoutMs: number;
  /** Picks the error to report when every Sentinel has failed. */
  readonly pickError: (errors: readonly unknown[]) => unknown;
}

/**
 * The primary that the Sentinels name. Begins with the Sentinel that answered last. Asks the next
 * one if a Sentinel fails, and also if the server that it named accepts no client: a Sentinel that
 * was cut off from the others may name a primary that was replaced.
 */
export function sentinelServers(options: SentinelQuestion): FindServers {
  const { endpoints: sentinels, pickError } = options;
  let first = 0;
  return async function* servers(_start, signal) {
    const failures: unknown[] = [];
    const order = sentinels.map((_, i) => (first + i) % sentinels.length);
    for (const index of order) {
      const sentinel = sentinels[index];
      if (sentinel === undefined) continue;
      let primary: Endpoint;
      try {
        primary = await askPrimary(sentinel, options, signal);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
        continue;
      }
      first = index;
      yield primary;
    }
    if (failures.length === sentinels.length) throw noneNamed(pickError(failures), sentinels.length);
  };
}

async function askPrimary(sentinel: Endpoint, options: SentinelQuestion, signal: AbortSignal): Promise<Endpoint> {
  const { clock, connect, credentials, master, timeoutMs } = options;
  const attempt = new Attempt(clock, { timeoutMs, signal, background: true }, ExchangeError);
  let connection: Connection | undefined;
  try {
    const greeting = { credentials, db: 0, expects: 'sentinel' } as const;
    connection = await openConnection(sentinel, { clock, connect, greeting, timeoutMs, signal: attempt.signal, onPush: () => {} });
    const asked = connection.request(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master], (reply) => addressIn(reply, master));
    return await attempt.wait(asked);
  } catch (error) {
    signal.throwIfAborted();
    throw sentinelFailed(sentinel, error, timeoutMs);
  } finally {
    attempt.end();
    connection?.end(new ExchangeError({ kind: 'cut' }, 'the Sentinel has answered'));
  }
}

function addressIn(reply: Reply, master: string): Endpoint {
  if (reply === null)
    throw notConnected('foreign', `it watches no primary named "${master}": check sentinel.master (SENTINEL MASTERS lists the names)`);
  const [host, port] = Array.from(listOf(reply), (item) => textOf(bytesOf(item)));
  return { host: host ?? '', port: Number(port) };
}

/** Says that the failure is one of a Sentinel, and names the options that belong to it. */
function sentinelFailed(sentinel: Endpoint, error: unknown, timeoutMs: number): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message, cause } = error;
  const name = endpointName(sentinel);
  const what = message.startsWith(name) ? message : `${name}: ${message}`;
  switch (failure.kind) {
    case 'timeout':
      return notConnected('silent', `Sentinel ${name}: no answer within ${timeoutMs} ms`);
    case 'answer':
      return new ExchangeError({ kind: 'notConnected', why: 'refused', answer: failure.answer }, `Sentinel ${what}`, cause);
    case 'notConnected': {
      const isLogin = /^(?:WRONGPASS|NOAUTH|ERR AUTH)\b/.test(failure.answer?.text ?? '');
      const hint = isLogin ? ': check sentinel.credentials, or sentinelUsername and sentinelPassword in the URL' : '';
      return new ExchangeError(failure, `Sentinel ${what}${hint}`, cause);
    }
    case 'cut':
      return notConnected('unreachable', `Sentinel ${what}`, cause);
    case 'malformed':
      return notConnected('foreign', `Sentinel ${what}`, cause);
    default:
      return error;
  }
}

function noneNamed(error: unknown, count: number): unknown {
  if (!(error instanceof ExchangeError) || count === 1) return error;
  return new ExchangeError(error.failure, `none of the ${count} Sentinels named a primary: ${error.message}`, error.cause);
}
