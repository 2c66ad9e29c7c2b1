/** Finds the current primary by asking Sentinels, and notices when they name another one. */

import type { Clock } from '@incumbent/core';
import { sleep } from '@incumbent/core/adapter';
import { Attempt, type Connect, type Endpoint, endpointName, startingAt } from '@incumbent/network';

import { mildestError, sentinelDenied } from '../errors.ts';
import { answerIn, ExchangeError, notConnected } from '../protocol/failure.ts';
import { bytesOf, listOf, textOf } from '../protocol/replies.ts';
import type { Reply } from '../protocol/resp.ts';
import type { Connection } from './connection.ts';
import type { Credentials } from './greeting.ts';
import { openConnection } from './open-connection.ts';
import type { Servers } from './servers.ts';

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
}

/** How often a connected client asks whether the primary was replaced. */
const ASK_AGAIN_MS = 2_000;

/**
 * The primary that the Sentinels name. Begins with the Sentinel that answered last. Asks the next
 * one if a Sentinel fails, and also if the server that it named accepts no client: a Sentinel that
 * was cut off from the others may name a primary that was replaced.
 *
 * In a planned failover, the old primary accepts writes after the promotion, and these are lost.
 * So the client asks again every 2 s while it is connected, and leaves the old primary as soon as a
 * Sentinel names another one.
 */
export function sentinelServers(options: SentinelQuestion): Servers {
  const { endpoints: sentinels } = options;
  let first = 0;
  let named: Endpoint | undefined;
  return {
    async *find(_start, signal) {
      const failures: unknown[] = [];
      for (const sentinel of startingAt(sentinels, first)) {
        let answer: Answer;
        try {
          answer = await ask(sentinel, options, signal);
        } catch (error) {
          signal.throwIfAborted();
          failures.push(error);
          continue;
        }
        answer.connection.end(finished());
        first = sentinels.indexOf(sentinel);
        named = answer.primary;
        yield named;
      }
      if (failures.length === sentinels.length) throw noneNamed(mildestError(failures), sentinels.length);
    },
    watch(onReplaced, signal) {
      if (named === undefined) return;
      void whenReplaced(named, startingAt(sentinels, first), options, signal).then(
        ({ sentinel, primary }) => {
          first = sentinels.indexOf(sentinel);
          onReplaced(replaced(sentinel, primary));
        },
        () => {},
      );
    },
  };
}

interface Replacement {
  readonly sentinel: Endpoint;
  /** The server that this Sentinel names. */
  readonly primary: Endpoint;
}

/**
 * Resolves when a Sentinel names another primary. Asks on one connection until it fails, then asks
 * the next Sentinel. Rejects with the signal's reason.
 */
async function whenReplaced(
  named: Endpoint,
  sentinels: readonly Endpoint[],
  options: SentinelQuestion,
  signal: AbortSignal,
): Promise<Replacement> {
  let open: Connection | undefined;
  try {
    for (let turn = 0; ;) {
      await sleep(options.clock, ASK_AGAIN_MS, signal);
      signal.throwIfAborted();
      const sentinel = sentinels[turn % sentinels.length];
      if (sentinel === undefined) throw new Error('there is no Sentinel');
      try {
        const { connection, primary } = await ask(sentinel, options, signal, open);
        open = connection;
        if (endpointName(primary) !== endpointName(named)) return { sentinel, primary };
      } catch {
        signal.throwIfAborted();
        turn += 1;
      }
    }
  } finally {
    open?.end(finished());
  }
}

interface Answer {
  readonly primary: Endpoint;
  /** Whoever asked ends it. */
  readonly connection: Connection;
}

/** Asks on the given connection if it is usable, and on a new one otherwise. */
async function ask(sentinel: Endpoint, options: SentinelQuestion, signal: AbortSignal, open?: Connection): Promise<Answer> {
  const { clock, connect, credentials, master, timeoutMs } = options;
  const attempt = new Attempt(clock, { timeoutMs, signal, background: true }, ExchangeError);
  let connection = open?.usable === true ? open : undefined;
  try {
    const greeting = { credentials, db: 0, expects: 'sentinel' } as const;
    connection ??= await openConnection(sentinel, { clock, connect, greeting, timeoutMs, signal: attempt.signal, onPush: () => {} });
    const asked = connection.request(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master], (reply) => addressIn(reply, master));
    return { primary: await attempt.wait(asked), connection };
  } catch (error) {
    connection?.end(finished());
    signal.throwIfAborted();
    throw sentinelFailed(sentinel, error, options);
  } finally {
    attempt.end();
  }
}

function finished(): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, 'the Sentinel is no longer needed');
}

function replaced(sentinel: Endpoint, primary: Endpoint): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, `Sentinel ${endpointName(sentinel)} names another primary: ${endpointName(primary)}`);
}

function addressIn(reply: Reply, master: string): Endpoint {
  if (reply === null)
    throw notConnected('foreign', `it watches no primary named "${master}": check sentinel.master (SENTINEL MASTERS lists the names)`);
  const [host, port] = Array.from(listOf(reply), (item) => textOf(bytesOf(item)));
  return { host: host ?? '', port: Number(port) };
}

/** Says that the failure is one of a Sentinel, and names the options that belong to it. */
function sentinelFailed(sentinel: Endpoint, error: unknown, { credentials, timeoutMs }: SentinelQuestion): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message, cause } = error;
  const name = endpointName(sentinel);
  const what = message.startsWith(name) ? message : `${name}: ${message}`;
  if (answerIn(error)?.code === 'NOPERM') return sentinelDenied(`Sentinel ${what}`, credentials?.username ?? 'default', error);
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
