/** Opens connections to one agent. */

import type { Socket } from 'node:net';

import type { Clock } from '@incumbent/core';
import { dial, type Endpoint } from '@incumbent/network';

import { ExchangeError } from './failure.ts';

/**
 * Opens a socket to the agent. The store destroys a socket that is returned after the signal has
 * aborted.
 */
export type Connect = (endpoint: Endpoint, signal: AbortSignal) => Promise<Socket>;

export interface DialOptions {
  readonly endpoint: Endpoint;
  readonly connect: Connect;
  /** How long opening a connection may take, in ms. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

export class Dialer {
  readonly #options: DialOptions;
  readonly #closing = new AbortController();

  constructor(options: DialOptions) {
    this.#options = options;
  }

  /**
   * Opens a connection within `connectTimeoutMs`. The connection does not keep the process alive;
   * the timer of a request does.
   */
  async dial(): Promise<Socket> {
    const { endpoint, connect, connectTimeoutMs, clock } = this.#options;
    const late = new AbortController();
    const cancel = clock.schedule(connectTimeoutMs, () => late.abort(new Error(`no connection within ${connectTimeoutMs} ms`)));
    try {
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      return adapted(await dial(connect, endpoint, signal));
    } finally {
      cancel();
    }
  }

  /** Ends the attempts to connect that are under way. */
  close(): void {
    this.#closing.abort(new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed'));
  }
}

/** Changes two things that Node's HTTP client does with a socket. */
function adapted(socket: Socket): Socket {
  // The HTTP client refs the socket of a request, and the socket of a watch must not keep the
  // process alive.
  socket.unref();
  socket.ref = () => socket;
  // An agent that rejects a certificate sends an alert and closes. The HTTP client would report
  // only that the connection closed.
  const destroy = socket.destroy.bind(socket);
  let first: Error | undefined;
  socket.once('error', (error: Error) => (first = error));
  socket.destroy = (error) => destroy(first ?? error);
  return socket;
}
