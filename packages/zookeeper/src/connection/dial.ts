/** From a list of servers to a connection with a session. Sessions are asked for at one server at a time, so that there are never two. */

import type { Endpoint, SharedAllowance } from '@incumbent/network';

import { Channel } from './channel.ts';
import { Connection } from './connection.ts';
import { ExchangeError, notConnected } from './failure.ts';
import { shakeHands, type Hello } from './handshake.ts';
import { tryInTurn, type Opened, type RoundOptions } from './dialer.ts';
import type { WatchEvent } from '../protocol/watches.ts';

export interface GreetOptions extends RoundOptions {
  /** How long one server may then take to agree to a session, in ms. */
  readonly handshakeTimeoutMs: number;
  /** Of all connections of the store. */
  readonly answers: SharedAllowance;
}

export interface DialOptions extends GreetOptions {
  readonly onEvent: (event: WatchEvent) => void;
  readonly quiet: boolean;
}

/**
 * Tries the servers in this order, each once. Rejects with an `ExchangeError`: `notConnected`, for the server that gives most hope, its message
 * naming all; `expired`, or `authFailed`, at once, for no other server would answer otherwise. Rejects with the signal's reason if it aborts.
 */
export function dial(order: readonly Endpoint[], options: DialOptions, hello: Hello, signal: AbortSignal): Promise<Connection> {
  const { clock, onEvent, quiet } = options;
  return tryInTurn(order, options, signal, (opened) =>
    greet(opened, options, signal, async (channel) => {
      const greetedAtMs = clock.monotonic();
      return new Connection(opened.endpoint, channel, await shakeHands(channel, hello), { clock, greetedAtMs, onEvent, quiet });
    }),
  );
}

/** Has `talk` say the first words, in the time there is for them. */
export async function greet<T>(
  { socket }: Opened,
  { clock, handshakeTimeoutMs, answers }: GreetOptions,
  signal: AbortSignal,
  talk: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = new Channel(socket, answers);
  const silent = (): void => channel.destroy(notConnected('silent', `the server accepted, and said nothing for ${handshakeTimeoutMs} ms`));
  const abort = (): void => channel.destroy(new ExchangeError({ kind: 'closed', sent: false }, 'given up'));
  const cancel = clock.schedule(handshakeTimeoutMs, silent);
  signal.addEventListener('abort', abort, { once: true });
  try {
    if (signal.aborted) abort();
    return await talk(channel);
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
  }
}
