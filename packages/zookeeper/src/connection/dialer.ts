/**
 * Tries the servers of an ensemble until one of them serves. Byte streams are opened beside each
 * other, so that a dead server costs little time. A session is asked for at one server at a time,
 * so that there are never two sessions.
 */

import type { Duplex } from 'node:stream';

import type { Clock, Random } from '@incumbent/core';
import { fraction, onAbort } from '@incumbent/core/adapter';
import {
  type Connect,
  describeError,
  dial,
  type Endpoint,
  endpointName,
  ofServer,
  openFirst,
  type SharedAllowance,
} from '@incumbent/network';

import { ExchangeError, mildestOf, notConnected } from '../errors.ts';
import type { Hello } from '../protocol/hello.ts';
import type { WatchEvent } from '../protocol/watches.ts';
import { Channel } from './channel.ts';
import { Connection } from './connection.ts';
import { shakeHands } from './handshake.ts';

export interface DialLimits {
  /** How long one byte stream may take to open, in ms. */
  readonly connectTimeoutMs: number;
  /** How long a server may then take to grant a session, in ms. */
  readonly handshakeTimeoutMs: number;
}

export interface DialOptions extends DialLimits {
  readonly clock: Clock;
  readonly connect: Connect;
  /** Bounds the answers under way of all connections of the store. */
  readonly answers: SharedAllowance;
}

export interface SessionDialOptions extends DialOptions {
  readonly onEvent: (event: WatchEvent) => void;
  readonly quiet: boolean;
}

/** A byte stream to a server, on which nothing was sent yet. */
interface Opened {
  readonly endpoint: Endpoint;
  readonly socket: Duplex;
}

/**
 * Tries the servers once each, in this order, and resolves with a connection that has a session.
 * Rejects with the signal's reason, or with an `ExchangeError`: `notConnected` for the server whose
 * failure is the most likely to pass, with a message that names all servers; or at once with
 * `expired` or `authFailed`, which every server would answer.
 */
export function openConnection(
  order: readonly Endpoint[],
  options: SessionDialOptions,
  hello: Hello,
  signal: AbortSignal,
): Promise<Connection> {
  const { clock, onEvent, quiet } = options;
  return tryInTurn(order, options, signal, async (channel, endpoint) => {
    const helloAtMs = clock.monotonic();
    const welcome = await shakeHands(channel, hello);
    return new Connection(endpoint, channel, welcome, { clock, helloAtMs, onEvent, quiet });
  });
}

/**
 * Calls `talk` with a channel to one server after another, until a call resolves. A server whose
 * call rejects is not tried again. Rejects as {@link openConnection} does.
 */
export async function tryInTurn<T>(
  order: readonly Endpoint[],
  options: DialOptions,
  signal: AbortSignal,
  talk: (channel: Channel, endpoint: Endpoint) => Promise<T>,
): Promise<T> {
  const failures = new Map<Endpoint, unknown>();
  for (;;) {
    const left = order.filter((endpoint) => !failures.has(endpoint));
    const { endpoint, socket } = await openOne(left, options, signal, failures);
    try {
      return await withinHandshakeTime(socket, options, signal, (channel) => talk(channel, endpoint));
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      failures.set(endpoint, error);
    }
  }
}

/** Whether every server would answer the same. */
export function isFinal(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  const { failure } = error;
  return failure.kind === 'expired' || (failure.kind === 'notConnected' && failure.why === 'authFailed');
}

/**
 * In a random order, each order with the same probability, so that clients spread over the servers.
 */
export function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(Math.floor(fraction(random) * left.length), 1));
}

/**
 * The first byte stream that opens. Adds the failures of the others, and throws if all have failed.
 */
async function openOne(
  left: readonly Endpoint[],
  options: DialOptions,
  signal: AbortSignal,
  failures: Map<Endpoint, unknown>,
): Promise<Opened> {
  if (left.length === 0) throw summaryOf(failures);
  try {
    return await openFirst(left, {
      clock: options.clock,
      signal,
      open: async (endpoint, dialSignal) => {
        try {
          return { endpoint, socket: await openSocket(endpoint, options, dialSignal) };
        } catch (error) {
          if (!dialSignal.aborted) failures.set(endpoint, error);
          throw error;
        }
      },
      discard: ({ socket }) => socket.destroy(),
    });
  } catch (error) {
    signal.throwIfAborted();
    throw failures.size > 0 ? summaryOf(failures) : error;
  }
}

/**
 * One error for all servers: the failure that is the most likely to pass, so that one bad server
 * does not end the retries.
 */
function summaryOf(failures: ReadonlyMap<Endpoint, unknown>): ExchangeError {
  const message = [...failures].map(([endpoint, error]) => ofServer(endpointName(endpoint), describeError(error))).join('; ');
  const mildest = mildestOf([...failures.values()]);
  if (!(mildest instanceof ExchangeError)) return notConnected('unreachable', message, mildest);
  return new ExchangeError(mildest.failure, message, mildest.cause ?? mildest);
}

async function openSocket(endpoint: Endpoint, { connect, connectTimeoutMs, clock }: DialOptions, signal: AbortSignal): Promise<Duplex> {
  const stop = new AbortController();
  const expire = (): void => stop.abort(notConnected('unreachable', `not connected within ${connectTimeoutMs} ms`));
  const cancel = clock.schedule(connectTimeoutMs, expire);
  const forget = onAbort(signal, () => stop.abort(signal.reason));
  try {
    return await dial(connect, endpoint, stop.signal);
  } catch (error) {
    throw error instanceof ExchangeError || signal.aborted ? error : notConnected('unreachable', describeError(error), error);
  } finally {
    cancel();
    forget();
  }
}

/** Runs `talk`, and destroys the channel if the server takes longer than a handshake may. */
async function withinHandshakeTime<T>(
  socket: Duplex,
  { clock, handshakeTimeoutMs, answers }: DialOptions,
  signal: AbortSignal,
  talk: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = new Channel(socket, answers);
  const silent = (): void => channel.destroy(notConnected('silent', `the server accepted, and said nothing for ${handshakeTimeoutMs} ms`));
  const cancel = clock.schedule(handshakeTimeoutMs, silent);
  const forget = onAbort(signal, () => channel.destroy(new ExchangeError({ kind: 'closed', sent: false }, 'given up')));
  try {
    return await talk(channel);
  } finally {
    cancel();
    forget();
  }
}
