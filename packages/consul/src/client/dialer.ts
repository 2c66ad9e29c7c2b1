/** Opens connections to one agent, each within its time. */

import type { Socket } from 'node:net';

import type { Clock } from '@incumbent/core';
import type { Endpoint } from '@incumbent/network';

import type { Connect } from './endpoint.ts';
import { ExchangeError } from './failure.ts';

export interface DialOptions {
  readonly endpoint: Endpoint;
  readonly connect: Connect;
  /** How long a connection may take, in ms. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

export class Dialler {
  readonly #options: DialOptions;
  readonly #closing = new AbortController();

  constructor(options: DialOptions) {
    this.#options = options;
  }

  /** A call holds the process by its own timer, so the socket does not. */
  async dial(): Promise<Socket> {
    const { endpoint, connect, connectTimeoutMs, clock } = this.#options;
    const late = new AbortController();
    const cancel = clock.schedule(connectTimeoutMs, () => late.abort(new Error(`no connection within ${connectTimeoutMs} ms`)));
    try {
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      const socket = await connect(endpoint, signal);
      if (signal.aborted) socket.destroy();
      signal.throwIfAborted();
      return tamed(socket);
    } finally {
      cancel();
    }
  }

  /** Gives up what is being dialled. */
  close(): void {
    this.#closing.abort(new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed'));
  }
}

function tamed(socket: Socket): Socket {
  // An HTTP client would hold the process by it, and a watch must not.
  socket.unref();
  socket.ref = () => socket;
  // When an agent does not like a certificate it says so, and ends: an HTTP client would tell of the end alone.
  const destroy = socket.destroy.bind(socket);
  let first: Error | undefined;
  socket.once('error', (error: Error) => (first = error));
  socket.destroy = (error) => destroy(first ?? error);
  return socket;
}
